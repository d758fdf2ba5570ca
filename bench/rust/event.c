/* SPDX-License-Identifier: MIT */
/* For the benchmark of the Rust crate: the C events with which the events of Rust are compared, and
 * a stream that overwrites its oldest events. */
#include <posixtrace.h>
#include <stdint.h>

struct numbers {
	uint64_t n, time;
};
POSIXTRACE_TYPE(numbers, "bench.c", struct numbers, n, time);

static trace_id_t stream;

void bench_c_events(unsigned long turns);
int bench_start(void);
int bench_end(void);

void bench_c_events(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++)
		POSIXTRACE_EMIT(numbers, .n = i, .time = i);
}

int bench_start(void)
{
	int error = posix_trace_create(0, NULL, &stream);

	return error ? error : posix_trace_start(stream);
}

int bench_end(void)
{
	return posix_trace_shutdown(stream);
}
