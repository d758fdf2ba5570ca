/* SPDX-License-Identifier: MIT */
/*
 * latency [-n EVENTS] [-l DIRECTORY]: measures the latencies of single events of 16 bytes, by the
 * method of latency.h, with one thread and a stream of 16 MiB. The stream overwrites its oldest
 * events or, with -l, a keeper (a process of the library) writes the events to a log in the
 * directory. Prints a JSON object; times are in nanoseconds.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>
#include <unistd.h>

#include "bench/latency.h"
#include "include/posixtrace-private.h"
#include "lib/recorder/thread.h"

#define STREAM_SIZE ((size_t)16 << 20)
#define RECORD_SIZE 32

static trace_event_id_t event;

static void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "latency: %s: %s\n", what, strerror(error));
	exit(1);
}

static inline void emit(uint64_t n)
{
	uint64_t data[2] = {n, n};

	posix_trace_event(event, data, sizeof(data));
}

/* Returns a number that identifies the chunk (piece of the stream) into which the thread writes.
 * Reads the library's own memory, because a call would take as long as the measured event. */
static inline uint64_t chunk(void)
{
	const struct ptrc_writer *w = ptrc_load_relaxed(&ptrc_thread_self->fast);

	return w ? (uint64_t)w->gen << 32 | w->index : 0;
}

int main(int argc, char **argv)
{
	unsigned long count = 10000000, lap = STREAM_SIZE / RECORD_SIZE;
	struct ptrc_counts counts = {0};
	const char *directory = NULL;
	trace_attr_t attr;
	trace_id_t trid;
	char path[4096];
	int option, fd;

	while ((option = getopt(argc, argv, "n:l:")) != -1) {
		if (option == 'n')
			count = strtoul(optarg, NULL, 10);
		else if (option == 'l')
			directory = optarg;
		else
			return 2;
	}
	if (lap > count / 2)
		lap = count / 2;
	must(posix_trace_eventid_open("bench", &event), "event");
	must(posix_trace_attr_init(&attr), "attributes");
	must(posix_trace_attr_setstreamsize(&attr, STREAM_SIZE), "stream size");
	if (directory) {
		snprintf(path, sizeof(path), "%s/posixtrace-bench.XXXXXX", directory);
		fd = mkstemp(path);
		if (fd < 0 || unlink(path)) {
			perror(path);
			return 1;
		}
		must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_FLUSH), "policy");
		must(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND), "log policy");
		must(posix_trace_create_withlog(0, &attr, fd, &trid), "create");
	} else {
		must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP), "policy");
		must(posix_trace_create(0, &attr, &trid), "create");
	}
	must(posix_trace_start(trid), "start");
	/* The thread's first event takes long, because it prepares the thread for recording. It is
	 * not measured. */
	emit(0);
	bench_latency(count, lap, emit, chunk);
	if (directory)
		must(ptrc_trace_counts(trid, &counts), "counts");
	must(posix_trace_shutdown(trid), "shutdown");
	printf(", \"lost\": %lu}\n", counts.pt_lost_events + counts.pt_log_lost_events);
	return 0;
}
