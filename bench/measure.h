/* SPDX-License-Identifier: MIT */
/*
 * Timing of loops, for the benchmark and the programs that it is compared with.
 *
 * The machine may be busy and change its speed. So each batch of the measured loop follows a batch
 * that reads the counter and a batch of empty calls; the three batches together take well below a
 * scheduler tick. The results are medians of the ratios and differences within such triples.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Turns of a loop in a batch. A batch takes some 50 us, which is long compared with reading the
 * clock. It records 130 KB of events of 32 bytes, so each batch includes changes to another chunk
 * of the stream. */
#define BENCH_BATCH 4096
#define BENCH_BATCHES 21

/* A sample: the nanoseconds per turn in three consecutive batches, of the measured loop, of reading
 * the counter and of empty calls. */
struct bench_sample {
	double ns;
	double counter_ns;
	double call_ns;
};

typedef void (*bench_loop)(unsigned long turns);

static inline uint64_t bench_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#else
#error "no counter known on this processor"
#endif
}

static inline uint64_t bench_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static inline double bench_time(bench_loop loop, unsigned long turns, clockid_t clock)
{
	uint64_t begin = bench_now_ns(clock);

	loop(turns);
	return (double)(bench_now_ns(clock) - begin) / (double)turns;
}

static inline void bench_loop_counter(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++) {
		uint64_t value = bench_counter();

		__asm__ volatile("" : : "r"(value));
	}
}

/* An empty function that is called like posix_trace_event(). */
static __attribute__((noinline)) void bench_call(unsigned id, const void *data, size_t size)
{
	__asm__ volatile("" : : "r"(id), "r"(data), "r"(size) : "memory");
}

static inline void bench_loop_call(unsigned long turns)
{
	for (unsigned long i = 0; i < turns; i++) {
		uint64_t data[2] = {i, i};

		bench_call(1, data, sizeof(data));
	}
}

/* Measures the loop in BENCH_BATCHES triples of batches, and stores a sample of each triple. */
static inline void bench_round(bench_loop loop, struct bench_sample *samples)
{
	for (int i = 0; i < BENCH_BATCHES; i++) {
		samples[i].counter_ns =
			bench_time(bench_loop_counter, BENCH_BATCH, CLOCK_MONOTONIC);
		samples[i].call_ns = bench_time(bench_loop_call, BENCH_BATCH, CLOCK_MONOTONIC);
		samples[i].ns = bench_time(loop, BENCH_BATCH, CLOCK_MONOTONIC);
	}
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the median of the values, and sorts them. */
static inline double bench_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), bench_compare);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

#endif
