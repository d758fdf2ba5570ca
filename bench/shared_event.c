/* SPDX-License-Identifier: MIT */
/* A worker of bench/event (worker.h) that measures an event of 16 bytes, recorded by the shared
 * library: bench/event itself uses the static one. */
#include <string.h>
#include <trace.h>

#include "bench/worker.h"

static trace_event_id_t event_id;

static void loop_event(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++) {
		uint64_t data[2] = {i, i};

		posix_trace_event(event_id, data, sizeof(data));
	}
}

int main(void)
{
	trace_attr_t attr;
	trace_id_t stream;
	int error = posix_trace_eventid_open("bench.shared", &event_id);

	if (!error)
		error = posix_trace_attr_init(&attr);
	if (!error)
		error = posix_trace_attr_setstreamsize(&attr, 4 << 20);
	if (!error)
		error = posix_trace_create(0, &attr, &stream);
	if (!error)
		error = posix_trace_start(stream);
	if (error) {
		fprintf(stderr, "shared_event: %s\n", strerror(error));
		return 1;
	}
	loop_event(500000);
	error = bench_worker(loop_event);
	posix_trace_shutdown(stream);
	return error;
}
