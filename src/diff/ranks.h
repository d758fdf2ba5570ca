/* SPDX-License-Identifier: MIT */
/*
 * Statistical tests whether the durations of two runs (logs) differ by more than chance. The tests of durations use
 * only the order of the durations, and assume no distribution. Durations in the same place of the histogram of
 * src/spans/quantiles.h are ties: they count as equal.
 */
#ifndef PTRC_SRC_DIFF_RANKS_H
#define PTRC_SRC_DIFF_RANKS_H

#include "src/spans/quantiles.h"

/* Levels of significance for a whole comparison. The first is for durations of one log on each side; the
 * second is for several logs on a side, because logs are fewer than durations. */
#define PTRC_RANKS_THRESHOLD 0.001
#define PTRC_RUNS_THRESHOLD 0.05

/* A pair is not tested if one of its sides has fewer durations than this. If both sides have fewer, the p-value of the
 * rank test is never below PTRC_RANKS_THRESHOLD. */
enum { PTRC_RANKS_LEAST = 8 };

struct ptrc_rank_test {
	/* The p-value of the two-sided test. */
	double p_value;
	/* The probability that a duration of the second run is longer than a duration of the first run. Ties
	 * count half. */
	double superiority;
};

/*
 * The test of Mann and Whitney (On a test of whether one of two random variables is stochastically larger than the
 * other, Annals of Mathematical Statistics 18, 1947), with the normal approximation, corrected for ties and for
 * continuity. Both sides must have durations.
 */
struct ptrc_rank_test ptrc_ranks_compare(const struct ptrc_quantiles *,
					 const struct ptrc_quantiles *);

/*
 * Compares one quantile of two runs by Fisher's exact test, from the number of durations of each run that are above
 * the smaller of the two quantiles (Mathisen, A method of testing the hypothesis that two samples are from the same
 * population, Annals of Mathematical Statistics 14, 1943). Returns the p-value. The test notices a change in the
 * tail, which the rank test does not notice among all other ranks.
 */
double ptrc_ranks_compare_at(const struct ptrc_quantiles *, const struct ptrc_quantiles *,
			     unsigned int per_million);

/* The greatest number of divisions that ptrc_runs_compare() tries. */
enum { PTRC_RUNS_WAYS = 20000 };
/*
 * Tests by permutation whether two groups of runs differ (the single-step maxT method of Westfall and Young,
 * Resampling-Based Multiple Testing, 1993). `values` has a row for each test, with a number for each run, first those of
 * group `a`; NAN if the run has none, which counts as the mean of the others. Overwrites `values`. The statistic of a
 * test is the difference of the groups' means, divided by the standard deviation of all its numbers.
 *
 * Stores the p-value of each test: of all divisions of the runs into groups of these sizes, the share in which the
 * greatest statistic of all tests is at least the observed one of this test. So the p-values are corrected for the
 * number of tests. If there are more than PTRC_RUNS_WAYS divisions, a generator with a fixed seed draws PTRC_RUNS_WAYS
 * of them.
 */
void ptrc_runs_compare(double *values, size_t test_count, size_t a_count, size_t b_count,
		       double *p_values);

/* Returns the least p-value that groups of these sizes can have. It is below PTRC_RUNS_THRESHOLD if each group has
 * PTRC_RUNS_ENOUGH runs. */
enum { PTRC_RUNS_ENOUGH = 4 };
double ptrc_runs_least(size_t a_count, size_t b_count);

/* Corrects p-values for their number (Holm, A simple sequentially rejective multiple test procedure, Scandinavian
 * Journal of Statistics 6, 1979). */
void ptrc_ranks_correct(double **p_values, size_t count);

#endif
