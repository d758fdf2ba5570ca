/* SPDX-License-Identifier: MIT */
/*
 * The line that a clock may be by what messages say of it.
 *
 * Nothing arrives before it was sent. So each message that one host sends to another says how far the
 * clock of that one is ahead at most, and each message back, how far at least. If both clocks run evenly,
 * how far one is ahead of the other is a line that passes below all of the former points and above all of
 * the latter ones; of both sets only the convex hull counts. This is due to Duda, Harrus, Haddad and
 * Bernard, "Estimating global time in distributed systems", 7th International Conference on Distributed
 * Computing Systems, 1987. The line taken is theirs: in the middle between the steepest and the least
 * steep one that pass.
 */
#ifndef PTRC_SRC_SYNC_LINE_H
#define PTRC_SRC_SYNC_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/query/correction.h"

/* The clocks of two hosts differ in speed by no more than the kernel allows for both. */
#define PTRC_SYNC_DRIFT_MAX 1e-3

struct ptrc_sync_point {
	int64_t at_ns;	  /* by the other host */
	int64_t ahead_ns; /* how far the host is ahead then */
};

/* Starts zeroed. */
struct ptrc_sync_points {
	struct ptrc_sync_point *list;
	size_t count;
};

void ptrc_sync_points_add(struct ptrc_sync_points *, int64_t at_ns, int64_t ahead_ns);

/* How far the host is ahead at most (highs) and at least (lows), by messages, and by what the clocks say of
 * themselves. */
struct ptrc_sync_evidence {
	struct ptrc_sync_points highs, lows;
	struct ptrc_sync_points said_highs, said_lows;
};

void ptrc_sync_evidence_free(struct ptrc_sync_evidence *);

/*
 * Fits the link. There is at least one message. If no line passes, takes the one that is violated least, and
 * makes slack_ns how much. What the clocks say counts only if it does not contradict the messages:
 * *is_contradicted says whether it does.
 */
void ptrc_sync_fit(const struct ptrc_sync_evidence *, struct ptrc_clock_link *,
		   bool *is_contradicted);

void ptrc_sync_link_free(struct ptrc_clock_link *);

#endif
