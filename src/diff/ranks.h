/* SPDX-License-Identifier: MIT */
/*
 * Whether durations of two runs differ by more than chance makes equal runs differ. Both tests look
 * at the order of the durations only, not at how they are distributed; those that
 * src/spans/quantiles.h counts as the same are ties.
 */
#ifndef PTRC_SRC_DIFF_RANKS_H
#define PTRC_SRC_DIFF_RANKS_H

#include "src/spans/quantiles.h"

/* What happens to equal logs less often than this, in a whole comparison, is taken for a change: by the durations
 * of one log on each side, and by several logs, of which there are fewer than durations. */
#define PTRC_RANKS_THRESHOLD 0.001
#define PTRC_RUNS_THRESHOLD 0.05

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

/*
 * The p-value of the difference between the means of two groups of runs, of each of which there is one number, by
 * permutation: in how many of the ways to divide the runs in groups of these sizes the difference is at least as
 * great. If there are more than PTRC_RUNS_WAYS ways, that number of them is drawn, always the same.
 */
enum { PTRC_RUNS_WAYS = 20000 };
double ptrc_runs_compare(const double *a, size_t a_count, const double *b, size_t b_count);

/* The least p-value that groups of these sizes can have. */
double ptrc_runs_least(size_t a_count, size_t b_count);

/* Corrects the p-values of a whole comparison for their number (Holm, A simple sequentially rejective multiple test
 * procedure, Scandinavian Journal of Statistics 6, 1979). */
void ptrc_ranks_correct(double **p_values, size_t count);

#endif
