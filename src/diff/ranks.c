/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/diff/ranks.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "src/base/message.h"

static uint64_t count_at(const struct ptrc_quantiles *q, size_t place)
{
	if (place < q->first_place || place - q->first_place >= q->place_count)
		return 0;
	return q->counts[place - q->first_place];
}

static size_t end_of(const struct ptrc_quantiles *q)
{
	return q->first_place + q->place_count;
}

struct ptrc_rank_test ptrc_ranks_compare(const struct ptrc_quantiles *a,
					 const struct ptrc_quantiles *b)
{
	size_t end = end_of(a) > end_of(b) ? end_of(a) : end_of(b);
	double m = (double)a->count;
	double n = (double)b->count;
	double all = m + n;
	/* `below` is the number of durations of `a` that are shorter than those in the current place of the
	 * histogram. `u` is the number of pairs of a duration of `a` and a longer one of `b`; a pair of equal
	 * durations counts as half a pair. */
	double below = 0;
	double u = 0;
	double tied = 0;
	double deviation;
	double distance;

	for (size_t place = 0; place < end; place++) {
		double of_a = (double)count_at(a, place);
		double of_b = (double)count_at(b, place);
		double both = of_a + of_b;

		u += of_b * (below + of_a / 2);
		below += of_a;
		tied += both * (both * both - 1);
	}
	deviation = sqrt(m * n / 12 * (all + 1 - tied / (all * (all - 1))));
	distance = fabs(u - m * n / 2) - 0.5;
	if (!(deviation > 0) || distance < 0)
		return (struct ptrc_rank_test){1, u / (m * n)};
	return (struct ptrc_rank_test){erfc(distance / deviation / sqrt(2)), u / (m * n)};
}

/* Returns the logarithm of the number of ways to choose k of n things. */
static long double log_ways(uint64_t n, uint64_t k)
{
	return lgammal((long double)n + 1) - lgammal((long double)k + 1) -
	       lgammal((long double)(n - k) + 1);
}

/* Fisher's exact test: of_m of m things and of_n of n things have a property. Returns the two-sided
 * p-value: the probability that chance divides the things with the property at least as
 * unevenly. */
static double exact(uint64_t m, uint64_t of_m, uint64_t n, uint64_t of_n)
{
	uint64_t property = of_m + of_n;
	bool is_more = (double)of_n * (double)m >= (double)of_m * (double)n;
	uint64_t last = is_more ? (property < n ? property : n) : (property > m ? property - m : 0);
	long double term = expl(log_ways(n, of_n) + log_ways(m, of_m) - log_ways(m + n, property));
	long double sum = term;

	/* Adds the probabilities, which decrease, from the observed value to the end of the tail. */
	for (uint64_t k = of_n; k != last && term > sum * 1e-12L;) {
		long double out = (long double)(is_more ? property - k : k);
		long double room = (long double)(is_more ? n - k : m - (property - k));

		k = is_more ? k + 1 : k - 1;
		term *= out * room;
		term /= is_more ? (long double)k * (long double)(m - (property - k))
				: (long double)(property - k) * (long double)(n - k);
		sum += term;
	}
	return sum > 0.5L ? 1 : (double)(2 * sum);
}

double ptrc_ranks_compare_at(const struct ptrc_quantiles *a, const struct ptrc_quantiles *b,
			     unsigned int per_million)
{
	uint64_t of_a = ptrc_quantiles_at(a, per_million), of_b = ptrc_quantiles_at(b, per_million);
	uint64_t lesser = of_a < of_b ? of_a : of_b;
	/* If one side keeps only the histogram, equal durations are those of one bucket, on both sides. */
	bool is_exact = a->exact && b->exact;

	return exact(a->count, ptrc_quantiles_above(a, lesser, is_exact), b->count,
		     ptrc_quantiles_above(b, lesser, is_exact));
}

/* ---- runs ---- */

/* Returns the number of ways to choose k of n things, or some number above PTRC_RUNS_WAYS if there are more
 * ways than that. */
static double count_ways(size_t n, size_t k)
{
	double ways = 1;

	for (size_t i = 1; i <= k && ways <= PTRC_RUNS_WAYS; i++)
		ways = ways * (double)(n - k + i) / (double)i;
	return ways;
}

double ptrc_runs_least(size_t a_count, size_t b_count)
{
	size_t fewer = a_count < b_count ? a_count : b_count;
	double ways = count_ways(a_count + b_count, fewer);

	return (a_count == b_count ? 2 : 1) / (ways < PTRC_RUNS_WAYS ? ways : PTRC_RUNS_WAYS);
}

/* `chosen` has k ascending numbers below n, which are one way to choose k of n. Changes them into
 * the next way. Returns false after the last one. */
static bool next_choice(size_t *chosen, size_t k, size_t n)
{
	size_t i = k;

	while (i && chosen[i - 1] == n - k + i - 1)
		i--;
	if (!i)
		return false;
	chosen[i - 1]++;
	for (; i < k; i++)
		chosen[i] = chosen[i - 1] + 1;
	return true;
}

/* Chooses k of n numbers at random: the list has all n, and the chosen ones are moved to its front. */
static void draw_choice(size_t *chosen, size_t k, size_t n, uint64_t *state)
{
	for (size_t i = 0; i < k; i++) {
		size_t other, kept = chosen[i];

		*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		other = i + (size_t)((*state >> 33) % (n - i));
		chosen[i] = chosen[other];
		chosen[other] = kept;
	}
}

/* Replaces the numbers of a test by their distances from the mean, in a unit in which the squares of all distances add
 * up to 1. Then the sum over a group of runs is the difference of the two groups' means, up to a factor that is the same
 * for all tests. A run without a number gets the distance 0; so do all runs if their numbers are equal. */
static void standardize(double *row, size_t n)
{
	double least = (double)INFINITY, greatest = -(double)INFINITY;
	double sum = 0, squares = 0, known = 0;

	for (size_t i = 0; i < n; i++) {
		if (isnan(row[i]))
			continue;
		least = fmin(least, row[i]);
		greatest = fmax(greatest, row[i]);
		sum += row[i];
		known++;
	}
	for (size_t i = 0; i < n; i++) {
		row[i] = least < greatest && !isnan(row[i]) ? row[i] - sum / known : 0;
		squares += row[i] * row[i];
	}
	for (size_t i = 0; i < n && squares > 0; i++)
		row[i] /= sqrt(squares);
}

static double statistic(const double *row, const size_t *chosen, size_t k)
{
	double sum = 0;

	for (size_t i = 0; i < k; i++)
		sum += row[chosen[i]];
	return fabs(sum);
}

void ptrc_runs_compare(double *values, size_t test_count, size_t a_count, size_t b_count,
		       double *p_values)
{
	size_t n = a_count + b_count;
	double *observed = ptrc_cli_allocate(test_count * sizeof(*observed));
	size_t *chosen = ptrc_cli_allocate(n * sizeof(*chosen));
	bool is_drawn = count_ways(n, a_count < b_count ? a_count : b_count) > PTRC_RUNS_WAYS;
	double ways = 0;
	uint64_t state = 1;

	for (size_t i = 0; i < n; i++)
		chosen[i] = i;
	for (size_t t = 0; t < test_count; t++) {
		standardize(values + t * n, n);
		/* Slightly smaller, because the sum of the same numbers in another order may differ by rounding. */
		observed[t] = statistic(values + t * n, chosen, a_count) - 1e-9;
		p_values[t] = 0;
	}
	do {
		double greatest = 0;

		ways++;
		for (size_t t = 0; t < test_count; t++) {
			double of_test = statistic(values + t * n, chosen, a_count);

			greatest = of_test > greatest ? of_test : greatest;
		}
		for (size_t t = 0; t < test_count; t++)
			p_values[t] += greatest >= observed[t];
		if (is_drawn)
			draw_choice(chosen, a_count, n, &state);
	} while (is_drawn ? ways < PTRC_RUNS_WAYS : next_choice(chosen, a_count, n));
	for (size_t t = 0; t < test_count; t++)
		p_values[t] /= ways;
	free(observed);
	free(chosen);
}

static int compare_p_values(const void *a, const void *b)
{
	double s = **(double *const *)a;
	double t = **(double *const *)b;

	return (s > t) - (s < t);
}

void ptrc_ranks_correct(double **p_values, size_t count)
{
	double least = 0;

	ptrc_sort(p_values, count, compare_p_values);
	for (size_t i = 0; i < count; i++) {
		least = fmax(least, fmin(1, *p_values[i] * (double)(count - i)));
		*p_values[i] = least;
	}
}
