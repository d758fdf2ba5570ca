/* SPDX-License-Identifier: MIT */
/* The worker of bench/cli that records events of this library. The data of each is the text
 * `mark:NS`, with the time in nanoseconds. */
#include <trace.h>

#include "bench/cli_worker.h"

static trace_event_id_t event;

static void emit(uint64_t now)
{
	char text[32];
	int size = snprintf(text, sizeof(text), "mark:%llu", (unsigned long long)now);

	posix_trace_event(event, text, (size_t)size);
}

int main(int argc, char **argv)
{
	posix_trace_eventid_open("bench.tick", &event);
	return bench_cli_worker(argc, argv, emit);
}
