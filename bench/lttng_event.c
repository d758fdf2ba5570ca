/* SPDX-License-Identifier: MIT */
/* A worker that measures a tracepoint of LTTng-UST. bench/lttng-session runs it and
 * records the tracepoint. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/lttng_tracepoint.h"

#include "bench/worker.h"

static void loop_tracepoint(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		lttng_ust_tracepoint(posixtrace_bench, two_numbers, i, i);
}

int main(void)
{
	struct timespec pause = {.tv_nsec = 10000000};

	/* A thread of the library asks the session daemon whether the tracepoint is
	 * enabled. */
	for (int i = 0; !lttng_ust_tracepoint_enabled(posixtrace_bench, two_numbers); i++) {
		if (i == 500) {
			fputs("lttng_event: the session daemon enables no event\n", stderr);
			return 1;
		}
		nanosleep(&pause, NULL);
	}
	/* Fills buffers of any usual size once. */
	loop_tracepoint(500000);
	return bench_worker(loop_tracepoint);
}
