/* SPDX-License-Identifier: MIT */
/*
 * keeper [-r MILLIONS] [-s SECONDS] [-t THREADS] [DIRECTORY]: what an event of 16 bytes costs its
 * keeper in processor time, and its log in bytes, at a given rate. The log is in the directory,
 * /dev/shm if none is given. Prints a line; times depend on what else the machine does.
 */
#include <posixtrace.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trace.h>
#include <unistd.h>

#include "bench/measure.h"

#define STREAM_SIZE ((size_t)16 << 20)
#define BATCH 1000UL

static trace_event_id_t event;
static double rate = 5e6, seconds = 4;
static int threads = 1;

static void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "keeper: %s: %s\n", what, strerror(error));
	exit(1);
}

/* Records events at the rate, for the time. */
static void *record(void *arg)
{
	uint64_t begin = bench_now_ns(CLOCK_MONOTONIC), now = begin;
	unsigned long count = 0;

	while ((double)(now - begin) < seconds * 1e9) {
		double due_ns;

		for (unsigned long i = 0; i < BATCH; i++, count++) {
			uint64_t data[2] = {count, now};

			posix_trace_event(event, data, sizeof(data));
		}
		due_ns = (double)count * 1e9 * threads / rate;
		now = bench_now_ns(CLOCK_MONOTONIC);
		if ((double)(now - begin) < due_ns) {
			struct timespec pause = {0, (long)(due_ns - (double)(now - begin))};

			nanosleep(&pause, NULL);
			now = bench_now_ns(CLOCK_MONOTONIC);
		}
	}
	*(unsigned long *)arg = count;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long counts_of[64] = {0}, count = 0;
	struct posixtrace_counts counts;
	const char *directory;
	pthread_t others[64];
	trace_attr_t attr;
	trace_id_t trid;
	clockid_t clock;
	char path[4096];
	struct stat st;
	uint64_t cpu;
	pid_t keeper;
	int option, fd;

	while ((option = getopt(argc, argv, "r:s:t:")) != -1) {
		if (option == 'r')
			rate = atof(optarg) * 1e6;
		else if (option == 's')
			seconds = atof(optarg);
		else if (option == 't')
			threads = atoi(optarg);
		else
			return 2;
	}
	if (rate <= 0 || seconds <= 0 || threads < 1 || threads > 64)
		return 2;
	directory = optind < argc ? argv[optind] : "/dev/shm";
	snprintf(path, sizeof(path), "%s/posixtrace-bench.XXXXXX", directory);
	fd = mkstemp(path);
	if (fd < 0 || unlink(path)) {
		perror(path);
		return 1;
	}
	must(posix_trace_eventid_open("bench", &event), "event");
	must(posix_trace_attr_init(&attr), "attributes");
	must(posix_trace_attr_setstreamsize(&attr, STREAM_SIZE), "stream size");
	must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_FLUSH), "policy");
	must(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND), "log policy");
	must(posix_trace_create_withlog(0, &attr, fd, &trid), "create");
	must(posix_trace_start(trid), "start");
	must(posixtrace_get_keeper(trid, &keeper), "keeper");
	must(clock_getcpuclockid(keeper, &clock), "keeper's clock");
	cpu = bench_now_ns(clock);
	for (int i = 0; i < threads; i++)
		must(pthread_create(&others[i], NULL, record, &counts_of[i]), "thread");
	for (int i = 0; i < threads; i++) {
		must(pthread_join(others[i], NULL), "thread");
		count += counts_of[i];
	}
	must(posix_trace_flush(trid), "flush");
	for (struct posix_trace_status_info status;;) {
		must(posix_trace_get_status(trid, &status), "status");
		if (status.posix_stream_flush_status == POSIX_TRACE_NOT_FLUSHING)
			break;
		usleep(1000);
	}
	cpu = bench_now_ns(clock) - cpu;
	must(posix_trace_shutdown(trid), "shutdown");
	must(fstat(fd, &st) ? 1 : 0, "log");
	must(posix_trace_open(fd, &trid), "open");
	must(posixtrace_get_counts(trid, &counts, sizeof(counts)), "counts");
	must(posix_trace_close(trid), "close");
	printf("%lu events of 16 bytes in %d threads, %.3g M/s, %lu lost: "
	       "keeper %.1f ns, log %.2f bytes per event\n",
	       count, threads, (double)count / seconds / 1e6,
	       counts.pt_lost_events + counts.pt_log_lost_events,
	       (double)cpu / (double)counts.pt_log_events,
	       (double)st.st_size / (double)counts.pt_log_events);
	return 0;
}
