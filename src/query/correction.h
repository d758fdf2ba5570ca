/* SPDX-License-Identifier: MIT */
/*
 * The correction of times of a log to a common clock of several hosts, and the bound of the error that remains.
 *
 * Events are stamped by a clock of their machine that is never stepped. At some times, the knots, the log has a
 * reading of CLOCK_REALTIME and the error of that reading. Between two knots the correction is interpolated; before
 * the first and after the last knot, the correction of that knot applies. So corrected times keep their order. The
 * error grows with the distance from a knot, at the rate that the kernel assumes.
 *
 * If the clock of a host was compared with that of another host by the messages between them, the host has a link,
 * which converts its times to those of the other host. A chain of links leads to the reference, the host to whose
 * clock all times are converted.
 */
#ifndef PTRC_SRC_QUERY_CORRECTION_H
#define PTRC_SRC_QUERY_CORRECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The greatest error of a time (its bound), if that is not known. */
#define PTRC_BOUND_UNKNOWN INT64_MAX

/* The rate at which the kernel (MAXFREQ) lets the maxerror of adjtimex() grow, in parts per million. */
#define PTRC_CLOCK_TOLERANCE_PPM 500

/* The error of a clock `ns` nanoseconds after its error was error_ns. The error grows by
 * PTRC_CLOCK_TOLERANCE_PPM. */
int64_t ptrc_clock_error_after(int64_t error_ns, int64_t ns);

/* A time of the log for which the correction is known. log_ns and shift_ns are less than 2^62 from 0, so
 * that neither their sum nor the difference of two of them overflows. */
struct ptrc_correction_knot {
	int64_t log_ns;	  /* the time in the log */
	int64_t shift_ns; /* the correction, which is added to log_ns */
	int64_t error_ns; /* the error of log_ns + shift_ns, or PTRC_BOUND_UNKNOWN */
	int64_t noise_ns; /* the part of error_ns that comes from reading the clocks */
};

/* The offset of a clock as a linear function of time: offset_ns + slope * (time - middle_ns).
 * middle_ns is a member of the link to which the line belongs. */
struct ptrc_clock_line {
	double offset_ns;
	double slope;
};

/* A link from a host to another host: the time by which the host's clock is ahead of the other clock, as a
 * function of the other clock's time. The best estimate is `line`. At any time, the true value is between the
 * lowest of the lows and the highest of the highs, each extended by slack_ns. Without lows or highs there is
 * no bound. */
struct ptrc_clock_link {
	/* The link from the other host to a third host, or NULL if the other host is the reference. */
	const struct ptrc_clock_link *next;
	int64_t middle_ns;
	/* A constant that is added to the values of all lines. */
	int64_t base_ns;
	struct ptrc_clock_line line;
	struct ptrc_clock_line *highs, *lows;
	size_t high_count, low_count;
	double slack_ns;
};

struct ptrc_correction {
	struct ptrc_correction_knot
		*knots; /* in the order of log_ns, which is also that of corrected times */
	size_t count;
	/* Times are left as the log has them. ptrc_correction_bound() then gives the error of these
	 * times. */
	bool is_as_recorded;
	/* Corrected times differ from those of the log. */
	bool is_moving;
	/* The log has no knots, but its host has other logs. It is not known how the times of this log relate to
	 * theirs. */
	bool is_apart;
	/* The host is the reference (`link` is NULL), or `link` leads to it. */
	bool is_linked;
	const struct ptrc_clock_link *link;
	/* In nanoseconds: the error of the reference, if there is one and this host is not linked to it; else 0. It
	 * is added to the errors of the host's own times. */
	int64_t more_ns;
};

/* The corrected time of a time in the log. */
int64_t ptrc_correction_time(const struct ptrc_correction *, int64_t log_ns);

/* The greatest error of a corrected time: its difference from UTC or, if there is a reference, from the time
 * of the reference. PTRC_BOUND_UNKNOWN if the error is not known. */
int64_t ptrc_correction_bound(const struct ptrc_correction *, int64_t log_ns);

/* ptrc_correction_first() returns the earliest time in the log whose corrected time is at least `ns`,
 * ptrc_correction_last() the latest whose corrected time is at most `ns`. */
int64_t ptrc_correction_first(const struct ptrc_correction *, int64_t ns);
int64_t ptrc_correction_last(const struct ptrc_correction *, int64_t ns);

/* The time corrected by the knots alone, without links: that of the host's own clock. */
int64_t ptrc_correction_own_time(const struct ptrc_correction *, int64_t log_ns);

/* If the machine slept between two knots, it is not known when the correction changed. ptrc_correction_doubt()
 * returns how far, at log_ns, the host's own clock may deviate from a clock that runs evenly, or
 * PTRC_BOUND_UNKNOWN. ptrc_correction_worst_doubt() returns the greatest such deviation at any time. */
int64_t ptrc_correction_doubt(const struct ptrc_correction *, int64_t log_ns);
int64_t ptrc_correction_worst_doubt(const struct ptrc_correction *);

/* The greatest error of any time from the first to the last knot. Links are left out. */
int64_t ptrc_correction_worst(const struct ptrc_correction *);

/* Called after all knots were added. Drops knots with which corrected times would run back. If all shifts are
 * within the noise of reading clocks, makes them 0. */
void ptrc_correction_finish(struct ptrc_correction *);

/* Converts nanoseconds to int64_t. A value out of range becomes the least or greatest int64_t. */
int64_t ptrc_clock_whole(long double ns);

/* The time by which the host's clock is ahead of the other host's when the host's own clock shows own_ns. */
int64_t ptrc_clock_link_ahead(const struct ptrc_clock_link *, int64_t own_ns);

/* The greatest error of ptrc_clock_link_ahead() when the other host's clock shows other_ns, or
 * PTRC_BOUND_UNKNOWN. */
int64_t ptrc_clock_link_bound(const struct ptrc_clock_link *, int64_t other_ns);

#endif
