/* SPDX-License-Identifier: MIT */
/*
 * paced MILLIONS SECONDS [pairs]: records this many million events of 16 bytes a second, in two
 * threads, for this many seconds; with `pairs`, this many million pairs of events, bench.begin and
 * bench.end, in one thread. A session traces this program.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trace.h>

#include "bench/measure.h"

enum { BATCH = 1000, THREADS = 2 };

static trace_event_id_t event, begin, end;
static double per_thread, seconds;
static bool is_pairs;

static void *record(void *unused)
{
	uint64_t since = bench_now_ns(CLOCK_MONOTONIC), now = since, count = 0;

	(void)unused;
	while ((double)(now - since) < seconds * 1e9) {
		uint64_t due_ns;

		for (int i = 0; i < BATCH; i++, count++) {
			uint64_t data[2] = {count, now};

			posix_trace_event(is_pairs ? begin : event, data, sizeof(data));
			if (is_pairs)
				posix_trace_event(end, data, sizeof(data));
		}
		due_ns = (uint64_t)((double)count * 1e9 / per_thread);
		now = bench_now_ns(CLOCK_MONOTONIC);
		if (now - since < due_ns) {
			struct timespec pause = {.tv_nsec = (long)(due_ns - (now - since))};

			nanosleep(&pause, NULL);
			now = bench_now_ns(CLOCK_MONOTONIC);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = THREADS;
	pthread_t other;

	if (argc < 3)
		return 2;
	is_pairs = argc > 3 && !strcmp(argv[3], "pairs");
	if (is_pairs)
		threads = 1;
	per_thread = atof(argv[1]) * 1e6 / threads;
	seconds = atof(argv[2]);
	if (per_thread < BATCH || posix_trace_eventid_open("bench", &event) ||
	    posix_trace_eventid_open("bench.begin", &begin) ||
	    posix_trace_eventid_open("bench.end", &end))
		return 1;
	if (threads > 1 && pthread_create(&other, NULL, record, NULL))
		return 1;
	record(NULL);
	if (threads > 1)
		pthread_join(other, NULL);
	return 0;
}
