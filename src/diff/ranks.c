/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/diff/ranks.h"

#include <math.h>
#include <stdbool.h>

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
	/* Those of a before the place, and pairs of which that of b is longer; ties are halves. */
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

/* The logarithm of the number of ways to take k out of n. */
static long double log_ways(uint64_t n, uint64_t k)
{
	return lgammal((long double)n + 1) - lgammal((long double)k + 1) -
	       lgammal((long double)(n - k) + 1);
}

/*
 * Fisher's exact test: of m and n things, `of_m` and `of_n` have a property. How probable it is that it
 * falls on them at least as unevenly, in either direction.
 */
static double exact(uint64_t m, uint64_t of_m, uint64_t n, uint64_t of_n)
{
	uint64_t property = of_m + of_n;
	bool is_more = (double)of_n * (double)m >= (double)of_m * (double)n;
	uint64_t last = is_more ? (property < n ? property : n) : (property > m ? property - m : 0);
	long double term = expl(log_ways(n, of_n) + log_ways(m, of_m) - log_ways(m + n, property));
	long double sum = term;

	/* From what was observed on to the end of that side; each term is less than the one before. */
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

/* The place of a quantile, as ptrc_quantiles_at() finds it. */
static size_t place_at(const struct ptrc_quantiles *q, unsigned int per_mille)
{
	uint64_t rank = q->count / 1000 * per_mille + (q->count % 1000 * per_mille + 999) / 1000;
	size_t place = q->first_place;

	for (; rank > count_at(q, place) && place + 1 < end_of(q); place++)
		rank -= count_at(q, place);
	return place;
}

static uint64_t count_above(const struct ptrc_quantiles *q, size_t place)
{
	uint64_t count = 0;

	for (size_t i = place + 1; i < end_of(q); i++)
		count += count_at(q, i);
	return count;
}

double ptrc_ranks_compare_at(const struct ptrc_quantiles *a, const struct ptrc_quantiles *b,
			     unsigned int per_mille)
{
	size_t of_a = place_at(a, per_mille);
	size_t of_b = place_at(b, per_mille);
	size_t place = of_a < of_b ? of_a : of_b;

	return exact(a->count, count_above(a, place), b->count, count_above(b, place));
}
