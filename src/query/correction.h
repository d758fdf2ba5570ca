/* SPDX-License-Identifier: MIT */
/*
 * What a time in a log is by the clocks of several hosts, and how far it may be wrong.
 *
 * The events of a log follow the clock of its machine that nobody steps. At some moments, the knots, the
 * log says what CLOCK_REALTIME was and how wrong that may have been; between two knots the correction is
 * on the straight line between both, and outside of them that of the nearest one. So corrected times are
 * in the order of those in the log. The error grows with the distance from a knot as the kernel has its own
 * grow. A host whose clock was compared with that of another one by messages has a line, too, which makes
 * its times those of the other one.
 */
#ifndef PTRC_SRC_QUERY_CORRECTION_H
#define PTRC_SRC_QUERY_CORRECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How wrong a time may be is not known. */
#define PTRC_BOUND_UNKNOWN INT64_MAX

/* The kernel lets maxerror of adjtimex() grow by so much (MAXFREQ): parts of a million. */
#define PTRC_CLOCK_TOLERANCE_PPM 500

/* What an error has become after so long. */
int64_t ptrc_clock_error_after(int64_t error_ns, int64_t ns);

/* Both times are less than 2^62 from 0, so that sums and differences fit. */
struct ptrc_correction_knot {
	int64_t log_ns;	  /* the time in the log */
	int64_t shift_ns; /* what to add to it */
	int64_t error_ns; /* how wrong the sum may be, or PTRC_BOUND_UNKNOWN */
	int64_t noise_ns; /* how wrong the reading of the clocks may be, which is a part of that */
};

/* A line that may be that of a clock: offset + slope * (time - middle). */
struct ptrc_clock_line {
	double offset_ns;
	double slope;
};

/*
 * How far a host's clock is ahead of another one's, by the time of that one: the line, and those that bound
 * it. At any moment the truth is at most the highest of the highs and at least the lowest of the lows, and
 * wrong by slack_ns more. Without highs or lows it is not bounded there.
 */
struct ptrc_clock_link {
	/* From that other one on to the next; null: it is the reference. */
	const struct ptrc_clock_link *next;
	int64_t middle_ns;
	/* Is added to what lines say. */
	int64_t base_ns;
	struct ptrc_clock_line line;
	struct ptrc_clock_line *highs, *lows;
	size_t high_count, low_count;
	double slack_ns;
};

struct ptrc_correction {
	struct ptrc_correction_knot *knots; /* in the order of both times */
	size_t count;
	/* Times are shown as the log has them, and the bound says how wrong these are. */
	bool is_as_recorded;
	/* Corrected times differ from those of the log. */
	bool is_moving;
	/* It has no knots, and its host has other logs: where its times are among those of these is not known. */
	bool is_apart;
	/* Its times were compared with those of the reference, by this link, or it is the reference. */
	bool is_linked;
	const struct ptrc_clock_link *link;
	/* What the reference may be wrong, if there is one and this is not linked to it. */
	int64_t more_ns;
};

/* The corrected time of a time in the log. */
int64_t ptrc_correction_time(const struct ptrc_correction *, int64_t log_ns);

/* How far that may be from the truth: from UTC, or from the time of the reference, if there is one.
 * PTRC_BOUND_UNKNOWN: any time. */
int64_t ptrc_correction_bound(const struct ptrc_correction *, int64_t log_ns);

/* The earliest time in the log whose corrected one is not before this. */
int64_t ptrc_correction_first(const struct ptrc_correction *, int64_t ns);

/* The latest one whose corrected one is not behind this. */
int64_t ptrc_correction_last(const struct ptrc_correction *, int64_t ns);

/* The same as ptrc_correction_time() by the knots alone: what the host's own clock says. */
int64_t ptrc_correction_own_time(const struct ptrc_correction *, int64_t log_ns);

/* How far the host's own clock may be from running evenly, as nobody knows when the correction became another
 * one: its machine slept. PTRC_BOUND_UNKNOWN: by any time. And the most that this is anywhere. */
int64_t ptrc_correction_doubt(const struct ptrc_correction *, int64_t log_ns);
int64_t ptrc_correction_worst_doubt(const struct ptrc_correction *);

/* The greatest bound between the knots, by these alone. */
int64_t ptrc_correction_worst(const struct ptrc_correction *);

/* To be called when all knots are there: drops those by which time would run back, and finds out what the
 * correction is. Shifts that the reading of the clocks explains are none. */
void ptrc_correction_finish(struct ptrc_correction *);

/* Nanoseconds as a whole number, or the nearest that fits. */
int64_t ptrc_clock_whole(long double ns);

/* How far the host is ahead of the other one, at a time of its own. */
int64_t ptrc_clock_link_ahead(const struct ptrc_clock_link *, int64_t own_ns);

/* How wrong that may be, at a time of the other one; PTRC_BOUND_UNKNOWN: by any time. */
int64_t ptrc_clock_link_bound(const struct ptrc_clock_link *, int64_t other_ns);

#endif
