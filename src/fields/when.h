/* SPDX-License-Identifier: MIT */
/*
 * Times and durations as users write them, in options and in --where; posixtrace-select(7) has their forms.
 *
 * Times are nanoseconds since 1970. A time beyond the range of int64_t is clamped to the end of that range.
 */
#ifndef PTRC_SRC_FIELDS_WHEN_H
#define PTRC_SRC_FIELDS_WHEN_H

#include <stdbool.h>
#include <stdint.h>
#include <posixtrace-log.h>
#include <time.h>

#include "src/base/message.h"

enum ptrc_when_base {
	PTRC_WHEN_ABSOLUTE,
	PTRC_WHEN_FROM_BEGIN,
	PTRC_WHEN_FROM_END,
};

struct ptrc_when {
	enum ptrc_when_base base;
	/* The time; or, for a relative time, the distance from the start (positive) or the end (negative) of the
	 * trace. */
	int64_t ns;
};

int64_t ptrc_when_ns(const struct timespec *);
struct timespec ptrc_when_timespec(int64_t ns);
static inline struct posixtrace_span ptrc_when_span(int64_t first, int64_t last)
{
	return (struct posixtrace_span){ptrc_when_timespec(first), ptrc_when_timespec(last)};
}

/* a + b, a - b and |a - b|. A result out of range becomes the least or greatest int64_t. */
int64_t ptrc_when_add(int64_t a, int64_t b);
int64_t ptrc_when_subtract(int64_t a, int64_t b);
int64_t ptrc_when_distance(int64_t a, int64_t b);

/* Reads a time. If the text is none, returns false, and stores the reason. */
bool ptrc_when_parse(const char *text, struct ptrc_when *, struct ptrc_cli_reason *why);

/* Reads a duration, such as 10s, 1m30s or 2 hours 5 min. Returns false if the text is something else, or not a
 * whole number of nanoseconds. */
bool ptrc_when_duration(const char *text, int64_t *ns);
/* Reads a duration as ptrc_when_duration() does, but also accepts 0 without a unit. */
bool ptrc_when_plain_duration(const char *text, int64_t *ns);

#endif
