/* SPDX-License-Identifier: MIT */
/*
 * Where stamps come from: the processor's counter, or CLOCK_MONOTONIC where the counter
 * is of no use. clock.h turns stamps into times.
 */
#ifndef PTRC_LIB_STREAM_COUNTER_H
#define PTRC_LIB_STREAM_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* The processor's counter. */
static inline uint64_t ptrc_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
#endif
}

/* Memory fences do not order a read of the counter, because it is no access to memory.
 * Right after a fence, this call makes the processor read the counter only when other
 * processors can see everything that was stored before, and begin what follows only when
 * the counter is read. */
static inline void ptrc_counter_fence(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lfence" ::: "memory");
#else
	__asm__ volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

/* True if the counter of this machine has a constant rate and is the same on all
 * processors. */
bool ptrc_counter_is_usable(void);

/* CLOCK_MONOTONIC, CLOCK_REALTIME or CLOCK_BOOTTIME in ns; async-signal-safe. */
int64_t ptrc_clock_ns(int clock_id);

/* A stamp of this moment for the stream: the counter, or CLOCK_MONOTONIC if the stream
 * was created without a usable counter. */
uint64_t ptrc_stream_now(const struct ptrc_stream_header *h);

/* The counters of two processors differ by less than this. A stamp that lies further in
 * the future is damaged memory. */
#define PTRC_STAMP_SLACK (UINT64_C(1) << 20)

#endif
