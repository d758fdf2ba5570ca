/* SPDX-License-Identifier: MIT */
/*
 * Moments and durations as users write them.
 *
 *	2026-01-02T03:04:05.123456789Z    RFC 3339; or with +01:00 in place of Z
 *	2026-01-02 03:04:05               local time; the seconds, or the time, may be missing
 *	03:04:05                          local time, today; the seconds may be missing
 *	@1767323045.123456789             seconds since 1970
 *	+2s                               after the begin of what is shown
 *	-1m30s                            before its end
 *
 * Moments are nanoseconds since 1970; what 64 bits do not hold is the nearest they do.
 */
#ifndef PTRC_SRC_VIEW_WHEN_H
#define PTRC_SRC_VIEW_WHEN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum ptrc_when_base {
	PTRC_WHEN_ABSOLUTE,
	PTRC_WHEN_FROM_BEGIN,
	PTRC_WHEN_FROM_END,
};

struct ptrc_when {
	enum ptrc_when_base base;
	/* The moment, or the distance from the base, which is negative from the end. */
	int64_t ns;
};

int64_t ptrc_when_ns(const struct timespec *);

/* a + b, or what is nearest to it. */
int64_t ptrc_when_add(int64_t a, int64_t b);

/* False if the text is none of the above. */
bool ptrc_when_parse(const char *text, struct ptrc_when *);

/*
 * Numbers with units one behind the other: 10s, 1.5ms, 1m30s. The units are ns, us, ms,
 * s, m, h and d.
 */
bool ptrc_when_duration(const char *text, int64_t *ns);

#endif
