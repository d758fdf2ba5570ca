/* SPDX-License-Identifier: MIT */
/*
 * Measures the hooks of -finstrument-functions, which ptrace-run --functions uses, into a stream
 * that overwrites its oldest events. Must run with posixtrace-preload.so preloaded and
 * POSIXTRACE_FUNCTIONS set; otherwise the hooks are those of the C library, which do nothing.
 * Prints a JSON object: the median nanoseconds of one hook and of reading the counter, and the
 * median of their ratios.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <trace.h>

#include "bench/measure.h"

enum { SAMPLES = 4 * BENCH_BATCHES };

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);
/* Not static, because POSIXTRACE_FUNCTIONS selects the function by its name. */
void bench_function(void);

void bench_function(void)
{
}

static void loop_functions(unsigned long turns)
{
	void *function = (void *)(uintptr_t)bench_function;

	for (unsigned long i = 0; i < turns; i += 2) {
		__cyg_profile_func_enter(function, function);
		__cyg_profile_func_exit(function, function);
	}
}

int main(void)
{
	double ns[SAMPLES], counter_ns[SAMPLES], ratio[SAMPLES];
	struct posix_trace_event_info info;
	trace_id_t stream;
	char data[64];
	size_t size;
	int none = 1;

	if (posix_trace_create(0, NULL, &stream) || posix_trace_start(stream))
		return 1;
	/* Fills the stream once, so that all its memory has been touched before measuring
	 * starts. */
	for (int i = 0; i < 80; i++)
		loop_functions(BENCH_BATCH);
	for (int i = 0; i < SAMPLES; i++) {
		counter_ns[i] = bench_time(bench_loop_counter, BENCH_BATCH, CLOCK_MONOTONIC);
		ns[i] = bench_time(loop_functions, BENCH_BATCH, CLOCK_MONOTONIC);
		ratio[i] = ns[i] / counter_ns[i];
	}
	/* Check that events of functions were recorded. Otherwise the hooks of the C library were
	 * measured. */
	do
		if (posix_trace_trygetnext_event(stream, &info, data, sizeof(data), &size, &none) ||
		    none) {
			fputs("functions: no function was recorded\n", stderr);
			return 1;
		}
	while (info.posix_event_id <= POSIX_TRACE_UNNAMED_USEREVENT);
	printf("{\"ns\": %.4g, \"counter_ns\": %.4g, \"ratio\": %.4g}\n", bench_median(ns, SAMPLES),
	       bench_median(counter_ns, SAMPLES), bench_median(ratio, SAMPLES));
	return posix_trace_shutdown(stream) != 0;
}
