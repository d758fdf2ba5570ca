/* SPDX-License-Identifier: MIT */
/*
 * The correction of times of a log to a common clock of several hosts, and the bound of its error.
 *
 * Events are stamped by a clock of their machine that is never stepped. At some times, the knots, the log has
 * CLOCK_REALTIME and its error. Between two knots the correction is interpolated; outside, that of the nearest knot
 * applies. So corrected times keep their order. The error grows with the distance from a knot at the rate that the
 * kernel assumes. A host whose clock was compared with another one's by messages has links, too, which convert its
 * times to those of a reference.
 */
#ifndef PTRC_SRC_QUERY_CORRECTION_H
#define PTRC_SRC_QUERY_CORRECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The error of a time is not known. */
#define PTRC_BOUND_UNKNOWN INT64_MAX

/* The growth of maxerror of adjtimex() in the kernel (MAXFREQ), in parts per million. */
#define PTRC_CLOCK_TOLERANCE_PPM 500

/* An error grown for a time `ns` at that rate. */
int64_t ptrc_clock_error_after(int64_t error_ns, int64_t ns);

/* Both times are less than 2^62 from 0, so that sums and differences fit. */
struct ptrc_correction_knot {
	int64_t log_ns;	  /* the time in the log */
	int64_t shift_ns; /* the correction, which is added to it */
	int64_t error_ns; /* the error of the sum, or PTRC_BOUND_UNKNOWN */
	int64_t noise_ns; /* the part of it that reading the clocks contributes */
};

/* The offset of a clock as a function of time: offset + slope * (time - middle). */
struct ptrc_clock_line {
	double offset_ns;
	double slope;
};

/* The time by which a host's clock is ahead of another one's, as a function of the latter's time. At any time, the true
 * value is between the lowest of the lows and the highest of the highs, each extended by slack_ns. Without lows or
 * highs there is no bound. */
struct ptrc_clock_link {
	/* The link from the other host to the next; NULL: the other one is the reference. */
	const struct ptrc_clock_link *next;
	int64_t middle_ns;
	/* A constant added to all lines. */
	int64_t base_ns;
	struct ptrc_clock_line line;
	struct ptrc_clock_line *highs, *lows;
	size_t high_count, low_count;
	double slack_ns;
};

struct ptrc_correction {
	struct ptrc_correction_knot *knots; /* in the order of both times */
	size_t count;
	/* Times are not corrected; the bound is the error of the log's own times. */
	bool is_as_recorded;
	/* Corrected times differ from those of the log. */
	bool is_moving;
	/* It has no knots, but its host has other logs: the relation of its times to theirs is not known. */
	bool is_apart;
	/* Its host is the reference (NULL) or has this link to it. */
	bool is_linked;
	const struct ptrc_clock_link *link;
	/* The error of the reference, if there is one and this is not linked to it. */
	int64_t more_ns;
};

/* The corrected time of a time in the log. */
int64_t ptrc_correction_time(const struct ptrc_correction *, int64_t log_ns);

/* The greatest difference of that from UTC or, if there is a reference, from its time; or PTRC_BOUND_UNKNOWN. */
int64_t ptrc_correction_bound(const struct ptrc_correction *, int64_t log_ns);

/* The earliest time in the log whose corrected time is at least `ns`, and the latest whose corrected time is at most
 * `ns`. */
int64_t ptrc_correction_first(const struct ptrc_correction *, int64_t ns);
int64_t ptrc_correction_last(const struct ptrc_correction *, int64_t ns);

/* The time corrected by the knots alone: that of the host's own clock. */
int64_t ptrc_correction_own_time(const struct ptrc_correction *, int64_t log_ns);

/* If the machine slept between two knots, it is not known when the correction changed: the greatest deviation of the
 * host's own clock from an even one at this time, or PTRC_BOUND_UNKNOWN; and the greatest at any time. */
int64_t ptrc_correction_doubt(const struct ptrc_correction *, int64_t log_ns);
int64_t ptrc_correction_worst_doubt(const struct ptrc_correction *);

/* The greatest bound between knots, without links. */
int64_t ptrc_correction_worst(const struct ptrc_correction *);

/* Called after all knots were added: drops those with which corrected times would run back. Shifts within the noise of
 * reading clocks become 0. */
void ptrc_correction_finish(struct ptrc_correction *);

/* Converts nanoseconds, clamped to the range of the type. */
int64_t ptrc_clock_whole(long double ns);

/* The time by which the host is ahead of the other one, at a time of its own. */
int64_t ptrc_clock_link_ahead(const struct ptrc_clock_link *, int64_t own_ns);

/* The greatest error of that, at a time of the other one, or PTRC_BOUND_UNKNOWN. */
int64_t ptrc_clock_link_bound(const struct ptrc_clock_link *, int64_t other_ns);

#endif
