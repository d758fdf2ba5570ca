/* SPDX-License-Identifier: MIT */
/* Times in nanoseconds, as a number and as a timespec. */
#ifndef PTRC_LIB_BASE_TIMESPEC_H
#define PTRC_LIB_BASE_TIMESPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Converts nanoseconds to a timespec. Even for a negative time, tv_nsec is not negative. */
static inline struct timespec ptrc_timespec_of(int64_t ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	if (t.tv_nsec < 0) {
		t.tv_nsec += 1000000000;
		t.tv_sec--;
	}
	return t;
}

static inline bool ptrc_timespec_is_valid(const struct timespec *t)
{
	return t->tv_nsec >= 0 && t->tv_nsec < 1000000000;
}

/* Converts a timespec to nanoseconds. Returns false if the time is out of range. */
static inline bool ptrc_timespec_to_ns(const struct timespec *t, int64_t *ns)
{
	return !__builtin_add_overflow((__int128)t->tv_sec * 1000000000, t->tv_nsec, ns);
}

/* Converts a timespec to nanoseconds. A time out of range becomes the smallest or the largest
 * int64_t. */
static inline int64_t ptrc_timespec_ns(const struct timespec *t)
{
	int64_t ns;

	if (!ptrc_timespec_to_ns(t, &ns))
		return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* The time of a clock in nanoseconds. Async-signal-safe. */
int64_t ptrc_clock_ns(int clock_id);

#endif
