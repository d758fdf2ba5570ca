/* SPDX-License-Identifier: MIT */
/*
 * Measures a tracepoint of LTTng-UST. bench/lttng-session runs it and records the tracepoint.
 *
 * 	(nothing)      a worker of bench/event
 * 	log EVENTS     records this many events; prints the seconds it took
 * 	latency EVENTS measures latencies of this many events, as bench/latency does
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/lttng_tracepoint.h"

#include <string.h>

#include "bench/latency.h"
#include "bench/worker.h"

static void loop_tracepoint(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		lttng_ust_tracepoint(posixtrace_bench, two_numbers, i, i);
}

static inline void emit(uint64_t n)
{
	lttng_ust_tracepoint(posixtrace_bench, two_numbers, n, n);
}

/* LTTng-UST does not say when it changes to another buffer. */
static inline uint64_t nowhere(void)
{
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec pause = {.tv_nsec = 10000000};
	unsigned long count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	uint64_t begin;

	/* Wait until the tracepoint is enabled: a thread of the LTTng library first has to ask the
	 * session daemon. */
	for (int i = 0; !lttng_ust_tracepoint_enabled(posixtrace_bench, two_numbers); i++) {
		if (i == 500) {
			fputs("lttng_event: the session daemon enables no event\n", stderr);
			return 1;
		}
		nanosleep(&pause, NULL);
	}
	if (count && !strcmp(argv[1], "log")) {
		begin = bench_now_ns(CLOCK_MONOTONIC);
		loop_tracepoint(count);
		printf("%.6f\n", (double)(bench_now_ns(CLOCK_MONOTONIC) - begin) / 1e9);
		return 0;
	}
	/* Fill buffers of any usual size once, so that their memory has been touched before
	 * measuring starts. */
	loop_tracepoint(500000);
	if (count && !strcmp(argv[1], "latency")) {
		bench_latency(count, 0, emit, nowhere);
		printf("}\n");
		return 0;
	}
	return bench_worker(loop_tracepoint);
}
