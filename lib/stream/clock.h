/* SPDX-License-Identifier: MIT */
/*
 * Conversion of stamps to times. A stamp is a value of the processor's counter, and each event
 * has one. A stream holds a growing list of entries {counter, ns, mult}, which convert stamps to
 * CLOCK_MONOTONIC. The offset of CLOCK_REALTIME, taken once at the stream's creation, is added,
 * so that setting the wall clock changes no time of an event.
 *
 * All readers, at all moments, get the same time for the same event. This holds because a process
 * appends an entry only after the moment `clock_due` in the header, and no writer stamps an event
 * at or after the clock_due that it knows. So a new entry never changes the time of a recorded
 * event, times never go backwards, and log and live reader agree to the nanosecond.
 */
#ifndef PTRC_LIB_STREAM_CLOCK_H
#define PTRC_LIB_STREAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/timespec.h"
#include "lib/stream/stream_layout.h"

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

/* Memory fences do not order a read of the counter, which is no memory access. If this function is
 * called after a fence and before a read of the counter, the counter is read only when other
 * processors can see all earlier stores. If it is called after a read of the counter, later
 * instructions start only after this read. */
static inline void ptrc_counter_fence(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lfence" ::: "memory");
#else
	__asm__ volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

/* Whether the counter has a constant rate and is the same on all processors. */
bool ptrc_counter_is_usable(void);

/* Event times are 64 bits of nanoseconds since the Epoch, which end in April 2262. A stream can
 * be created in the years 1970 to 2261. */
#define PTRC_CLOCK_END_SECONDS INT64_C(9214646400)

/* Whether a stream can be created at this time of CLOCK_REALTIME. */
static inline bool ptrc_clock_is_in_range(int64_t seconds)
{
	return seconds >= 0 && seconds < PTRC_CLOCK_END_SECONDS;
}

/* The stamp of the current moment: the counter, or CLOCK_MONOTONIC if the stream was created on a
 * machine without a usable counter. */
uint64_t ptrc_stream_now(const struct ptrc_stream_header *h);

/* The counters of two processors differ by less than this many ticks. A stamp that is more than
 * this in the future is damaged. */
#define PTRC_STAMP_SLACK (UINT64_C(1) << 20)

/* Appends a clock entry to the stream's list if a new entry is due at stamp `now`. Any thread of
 * any process may call this. If another thread is appending an entry, this function does not wait
 * long for it. */
void ptrc_clock_update(struct ptrc_stream_header *h, uint64_t now);
/* Saves the counter and the time. When a stream is created, the rate of the counter is measured
 * over the time since this call; a longer time makes the rate more accurate. */
void ptrc_clock_first_pair(void);
/* Reads the counter and CLOCK_MONOTONIC at the same moment, as nearly as possible. */
void ptrc_clock_pair(uint64_t *counter, int64_t *ns);
/* Sets, for a new stream, t0 (the stamp of the creation), the first clock entry and
 * realtime_offset. */
void ptrc_clock_init(struct ptrc_stream_header *h);

/* A reader's copy of the clock entry that it used last. All members 0: no entry was used yet. */
struct ptrc_clock_cursor {
	uint64_t from, to; /* stamps for which the copy is valid: from <= stamp < to */
	int64_t ns;
	uint64_t mult;
};
/* The time of a stamp for which the entry in the cursor is not valid. Loads the valid entry into
 * the cursor. */
int64_t ptrc_clock_look_up(const struct ptrc_stream_header *h, struct ptrc_clock_cursor *c,
			   uint64_t counter);

/* An entry's mult is nanoseconds per tick, shifted left by this many bits. */
#define PTRC_CLOCK_SHIFT 32

/* The time of a stamp in ns of CLOCK_REALTIME. The sums may wrap around, because their operands
 * come from shared memory. */
static inline int64_t ptrc_clock_realtime(const struct ptrc_stream_header *h,
					  struct ptrc_clock_cursor *c, uint64_t counter)
{
	uint64_t since;

	if (counter < c->from || counter >= c->to)
		return ptrc_clock_look_up(h, c, counter);
	since = (uint64_t)((unsigned __int128)(counter - c->from) * c->mult >> PTRC_CLOCK_SHIFT);
	return (int64_t)((uint64_t)c->ns + since + (uint64_t)h->realtime_offset);
}

#endif
