/* SPDX-License-Identifier: MIT */
/*
 * Estimates the offset and drift between two clocks from messages.
 *
 * Nothing arrives before it was sent. So each message from one host to another is an upper bound of how far the
 * receiver's clock is ahead, and each message back is a lower bound. If both clocks run evenly, the offset is a
 * line over time that passes below all upper bounds and above all lower bounds; only the convex hulls of both sets
 * matter. This is due to Duda, Harrus, Haddad and Bernard, "Estimating global time in distributed systems", 7th
 * International Conference on Distributed Computing Systems, 1987. As in that paper, the result is the line in the
 * middle between the steepest and the least steep line that pass between the bounds.
 */
#ifndef PTRC_SRC_SYNC_LINE_H
#define PTRC_SRC_SYNC_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/query/correction.h"

/* The largest difference in speed between two clocks that the kernel allows. */
#define PTRC_SYNC_DRIFT_MAX 1e-3

/* A bound of how far the clock of a host is ahead of the clock of another host. */
struct ptrc_sync_point {
	int64_t at_ns;	  /* a time, by the clock of the other host */
	int64_t ahead_ns; /* the bound at that time */
};

/* Starts zeroed. */
struct ptrc_sync_points {
	struct ptrc_sync_point *list;
	size_t count;
};

void ptrc_sync_points_add(struct ptrc_sync_points *, int64_t at_ns, int64_t ahead_ns);

/* Bounds of the offset between two clocks: upper ones (highs) and lower ones (lows). Those in `highs` and `lows` come
 * from messages between the hosts; those in said_highs and said_lows from the errors that the clocks state. */
struct ptrc_sync_evidence {
	struct ptrc_sync_points highs, lows;
	struct ptrc_sync_points said_highs, said_lows;
};

void ptrc_sync_evidence_free(struct ptrc_sync_evidence *);

/*
 * Finds the line of the link. There is at least one message. If the errors that the clocks state contradict the
 * messages, ignores these errors. If no line passes between the bounds of the messages, takes the line that violates
 * them least, and stores in .slack_ns twice the largest violation; otherwise sets *is_contradicted if it has ignored
 * errors.
 */
void ptrc_sync_fit(const struct ptrc_sync_evidence *, struct ptrc_clock_link *,
		   bool *is_contradicted);

void ptrc_sync_link_free(struct ptrc_clock_link *);

#endif
