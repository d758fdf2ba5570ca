/* SPDX-License-Identifier: MIT */
/*
 * keeper [-cjw] [-n EVENTS] [-o LOG] [-r MILLIONS] [-s SECONDS] [-t THREADS] [DIRECTORY]: measures
 * the processor time that the keeper takes for an event of 16 bytes and the event's size in the
 * log, at a given rate, and how many events are lost. The stream has 16 MiB. Prints a line; times
 * depend on the load of the machine.
 *
 *   -c  the log is /dev/null, so the keeper only counts
 *   -j  print a JSON object
 *   -n  record this many events in each thread, however long it takes
 *   -o  keep the log in this file; without -o, the log is an unnamed file in the directory
 *       (default: /dev/shm)
 *   -r  millions of events that all threads together record in a second (default: 5); 0: as many
 *       as they can
 *   -s  record for this long (default: 4); -n overrides it
 *   -w  wait for room rather than lose an event, as with ptrace-run --no-loss
 *
 * The data of each event are two numbers of 8 bytes: how many events the thread has recorded
 * before, and a time. With -n, the first thread also records an event "bench.mark" when half of its
 * events are recorded.
 */
#include <fcntl.h>
#include <posixtrace-control.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trace.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "bench/measure.h"

#define STREAM_SIZE ((size_t)16 << 20)
#define BATCH 1000UL

static trace_event_id_t event, mark;
static double rate = 5e6, seconds = 4;
static unsigned long most;
static int threads = 1;

struct recorder {
	pthread_t thread;
	bool is_first;
	unsigned long count;
};

static void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "keeper: %s: %s\n", what, strerror(error));
	exit(1);
}

/* Records events at the rate, for the given time or up to the given number. */
static void *record(void *arg)
{
	uint64_t begin = bench_now_ns(CLOCK_MONOTONIC), now = begin;
	struct recorder *r = arg;
	unsigned long count = 0;

	while (most ? count < most : (double)(now - begin) < seconds * 1e9) {
		double due_ns = 0;

		for (unsigned long i = 0; i < BATCH; i++, count++) {
			uint64_t data[2] = {count, now};

			posix_trace_event(event, data, sizeof(data));
		}
		if (most && r->is_first && count - BATCH <= most / 2 && count > most / 2)
			posix_trace_event(mark, "half", 4);
		if (rate > 0)
			due_ns = (double)count * 1e9 * threads / rate;
		now = bench_now_ns(CLOCK_MONOTONIC);
		if ((double)(now - begin) < due_ns) {
			uint64_t left = (uint64_t)due_ns - (now - begin);
			struct timespec pause = {(time_t)(left / 1000000000),
						 (long)(left % 1000000000)};

			nanosleep(&pause, NULL);
			now = bench_now_ns(CLOCK_MONOTONIC);
		}
	}
	r->count = count;
	return NULL;
}

static int open_log(const char *log, const char *directory)
{
	char path[4096];
	int fd;

	if (log) {
		fd = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	} else {
		log = path;
		snprintf(path, sizeof(path), "%s/posixtrace-bench.XXXXXX", directory);
		fd = mkstemp(path);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0) {
		perror(log);
		exit(1);
	}
	return fd;
}

static void flush(trace_id_t trid)
{
	struct posix_trace_status_info status;

	must(posix_trace_flush(trid), "flush");
	for (;;) {
		must(posix_trace_get_status(trid, &status), "status");
		if (status.posix_stream_flush_status == POSIX_TRACE_NOT_FLUSHING)
			return;
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	static struct recorder recorders[64];
	bool is_json = false, is_waiting = false, only_counts = false;
	unsigned long count = 0, lost;
	struct ptrc_counts counts;
	const char *log = NULL;
	double elapsed, ns, bytes;
	uint64_t begin, cpu;
	trace_attr_t attr;
	trace_id_t trid;
	clockid_t clock;
	struct stat st;
	pid_t keeper;
	int option, fd;

	while ((option = getopt(argc, argv, "cjn:o:r:s:t:w")) != -1) {
		if (option == 'c')
			only_counts = true;
		else if (option == 'j')
			is_json = true;
		else if (option == 'n')
			most = strtoul(optarg, NULL, 10);
		else if (option == 'o')
			log = optarg;
		else if (option == 'r')
			rate = atof(optarg) * 1e6;
		else if (option == 's')
			seconds = atof(optarg);
		else if (option == 't')
			threads = atoi(optarg);
		else if (option == 'w')
			is_waiting = true;
		else
			return 2;
	}
	if (rate < 0 || seconds <= 0 || threads < 1 || threads > 64)
		return 2;
	if (only_counts)
		log = "/dev/null";
	fd = open_log(log, optind < argc ? argv[optind] : "/dev/shm");
	must(posix_trace_eventid_open("bench", &event), "event");
	must(posix_trace_eventid_open("bench.mark", &mark), "event");
	must(posix_trace_attr_init(&attr), "attributes");
	must(posix_trace_attr_setstreamsize(&attr, STREAM_SIZE), "stream size");
	must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_FLUSH), "policy");
	must(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND), "log policy");
	if (is_waiting)
		must(posixtrace_attr_setfullwait(&attr, &(struct timespec){.tv_sec = 60}),
		     "full-wait");
	must(posix_trace_create_withlog(0, &attr, fd, &trid), "create");
	must(posix_trace_start(trid), "start");
	must(ptrc_trace_keeper(trid, &keeper), "keeper");
	must(clock_getcpuclockid(keeper, &clock), "keeper's clock");
	cpu = bench_now_ns(clock);
	begin = bench_now_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < threads; i++) {
		recorders[i].is_first = i == 0;
		must(pthread_create(&recorders[i].thread, NULL, record, &recorders[i]), "thread");
	}
	for (int i = 0; i < threads; i++) {
		must(pthread_join(recorders[i].thread, NULL), "thread");
		count += recorders[i].count;
	}
	/* With -w the elapsed time includes writing the whole log. */
	if (is_waiting)
		flush(trid);
	elapsed = (double)(bench_now_ns(CLOCK_MONOTONIC) - begin) / 1e9;
	if (!is_waiting)
		flush(trid);
	cpu = bench_now_ns(clock) - cpu;
	must(ptrc_trace_counts(trid, &counts), "counts");
	must(posix_trace_shutdown(trid), "shutdown");
	must(fstat(fd, &st) ? 1 : 0, "log");
	if (!only_counts) {
		must(posix_trace_open(fd, &trid), "open");
		must(ptrc_trace_counts(trid, &counts), "counts");
		must(posix_trace_close(trid), "close");
	}

	lost = counts.pt_lost_events + counts.pt_log_lost_events;
	ns = (double)cpu / (double)counts.pt_log_events;
	bytes = (double)st.st_size / (double)counts.pt_log_events;
	if (is_json)
		printf("{\"events\": %lu, \"threads\": %d, \"millions_per_s\": %.6g, "
		       "\"lost\": %lu, \"waits\": %lu, \"keeper_ns\": %.6g, "
		       "\"log_bytes\": %.6g}\n",
		       count, threads, (double)count / elapsed / 1e6, lost, counts.pt_waits, ns,
		       bytes);
	else
		printf("%lu events of 16 bytes in %d threads, %.3g M/s, %lu lost: "
		       "keeper %.1f ns, log %.2f bytes per event\n",
		       count, threads, (double)count / elapsed / 1e6, lost, ns, bytes);
	return 0;
}
