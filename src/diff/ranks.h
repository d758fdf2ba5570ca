/* SPDX-License-Identifier: MIT */
/*
 * Whether durations of two runs differ by more than chance makes equal runs differ. Both tests look
 * at the order of the durations only, not at how they are distributed; those that
 * src/pairs/quantiles.h counts as the same are ties.
 */
#ifndef PTRC_SRC_DIFF_RANKS_H
#define PTRC_SRC_DIFF_RANKS_H

#include "src/pairs/quantiles.h"

/* What happens to equal runs less often than this is taken for a change. */
#define PTRC_RANKS_THRESHOLD 0.001

/* With fewer durations on a side, the rank test cannot get below that. */
enum { PTRC_RANKS_LEAST = 8 };

struct ptrc_rank_test {
	/* How probable as great a difference is if both are the same, in either direction. */
	double p_value;
	/* How probable it is that a duration of the second is longer than one of the first, with half
	 * of the ties. */
	double superiority;
};

/*
 * The test of Mann and Whitney (On a test of whether one of two random variables is stochastically
 * larger than the other, Annals of Mathematical Statistics 18, 1947), with the normal approximation,
 * corrected for ties and for continuity. Both have durations.
 */
struct ptrc_rank_test ptrc_ranks_compare(const struct ptrc_quantiles *,
					 const struct ptrc_quantiles *);

/*
 * The same p-value for one quantile: how many durations of each are above the lesser one of both
 * quantiles (Mathisen, A method of testing the hypothesis that two samples are from the same
 * population, Annals of Mathematical Statistics 14, 1943), by Fisher's exact test. It sees a tail that
 * has changed, which is nothing beside all the other ranks.
 */
double ptrc_ranks_compare_at(const struct ptrc_quantiles *, const struct ptrc_quantiles *,
			     unsigned int per_mille);

#endif
