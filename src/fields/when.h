/* SPDX-License-Identifier: MIT */
/*
 * Moments and durations as users write them. This is the only reader of times: --since, --until
 * and --where use it.
 *
 * 	2026-01-02T03:04:05.123456789Z        RFC 3339, with Z or an offset; a blank may stand in
 * 	2026-01-02 04:04:05+01:00             place of T, and in front of the offset
 * 	2026-01-02 03:04:05                   local time; may lack seconds or time
 * 	03:04:05                              local time today; may lack seconds
 * 	now, today, yesterday                 the latter are the begin of the day, local time
 * 	1h ago, 2 days ago, 1h 30min ago      before now
 * 	@1767323045.123456789                 seconds since 1970
 * 	+2s                                   2 s after the begin of the trace
 * 	-1m30s                                1 min 30 s before its end
 *
 * A local time that the clocks showed twice on that day, or not at all, because they were set,
 * is refused: with an offset it is clear.
 *
 * Moments are nanoseconds since 1970; one that does not fit in 64 bits becomes the
 * nearest that does.
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
	/* The moment, or the distance from the begin or the end; that from the end is negative. */
	int64_t ns;
};

/* The moment in nanoseconds since 1970. */
int64_t ptrc_when_ns(const struct timespec *);
/* The reverse; tv_nsec is not negative. */
struct timespec ptrc_when_timespec(int64_t ns);
static inline struct posixtrace_span ptrc_when_span(int64_t first, int64_t last)
{
	return (struct posixtrace_span){ptrc_when_timespec(first), ptrc_when_timespec(last)};
}

/* a + b, or the nearest number that fits. */
int64_t ptrc_when_add(int64_t a, int64_t b);

/* a - b, or the nearest number that fits. */
int64_t ptrc_when_subtract(int64_t a, int64_t b);

/* How far a and b are apart, or the greatest number that fits. */
int64_t ptrc_when_distance(int64_t a, int64_t b);

/* Reads one of the above. Returns false with the reason if the text is none of them. */
bool ptrc_when_parse(const char *text, struct ptrc_when *, struct ptrc_cli_reason *why);

/*
 * Reads a duration: one or several numbers with units, such as 10s, 1.5ms, 1m30s or
 * 2 hours 5 min. The units are ns, us, ms, s, m, h, d and w, or words for them. Returns false
 * if the text is none, or no whole number of nanoseconds.
 */
bool ptrc_when_duration(const char *text, int64_t *ns);
/* The same where only a duration can stand, so that 0 needs no unit. */
bool ptrc_when_plain_duration(const char *text, int64_t *ns);

#endif
