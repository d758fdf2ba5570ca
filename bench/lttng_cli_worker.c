/* SPDX-License-Identifier: MIT */
/* The worker of bench/lttng-cli: its events are tracepoints of LTTng-UST, with the time as a
 * number. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/lttng_tracepoint.h"

#include "bench/cli_worker.h"

static void emit(uint64_t now)
{
	lttng_ust_tracepoint(posixtrace_bench, two_numbers, now, 0);
}

int main(int argc, char **argv)
{
	return bench_cli_worker(argc, argv, emit);
}
