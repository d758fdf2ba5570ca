/* SPDX-License-Identifier: MIT */
/* What differs between runs, and what of it is noise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"

#include "src/diff/conditions.h"
#include "src/diff/diff.h"
#include "src/diff/ranks.h"

/* Fills in durations around a middle, as many services have them: few short ones, a long tail. */
static void draw(struct ptrc_quantiles *q, size_t count, double scale)
{
	for (size_t i = 0; i < count; i++) {
		double x = (double)harness_draw(1000000) / 1000000;

		ptrc_quantiles_add(q, (uint64_t)(scale * 1000000 * (0.5 - log(1 - x))));
	}
}

static void fill(struct ptrc_quantiles *q, const uint64_t *lengths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ptrc_quantiles_add(q, lengths[i]);
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* ---- merging ---- */

TEST(merged_durations_are_those_that_were_added_one_by_one, "")
{
	struct ptrc_quantiles all = {0}, parts[3] = {{0}};

	for (size_t i = 0; i < 3000; i++) {
		uint64_t length = harness_draw(1000) << harness_draw(40);

		ptrc_quantiles_add(&all, length);
		ptrc_quantiles_add(&parts[i < 1000 ? 0 : 1], length);
	}
	ptrc_quantiles_merge(&parts[2], &parts[1]);
	ptrc_quantiles_merge(&parts[2], &parts[0]);
	ptrc_quantiles_merge(&parts[2], &(struct ptrc_quantiles){0});
	CHECK_EQ(parts[2].count, all.count);
	CHECK_EQ(parts[2].total, all.total);
	CHECK_EQ(parts[2].least, all.least);
	CHECK_EQ(parts[2].greatest, all.greatest);
	for (unsigned int i = 1; i <= 1000; i++)
		CHECK_EQ(ptrc_quantiles_at(&parts[2], i), ptrc_quantiles_at(&all, i));
	/* A sum that has no room is the greatest one. */
	ptrc_quantiles_add(&parts[0], UINT64_MAX);
	ptrc_quantiles_merge(&parts[2], &parts[0]);
	CHECK_EQ(parts[2].total, UINT64_MAX);
}

/* ---- tests ---- */

TEST(the_rank_test_is_that_of_the_definition, "")
{
	for (size_t round = 0; round < 50; round++) {
		size_t m = 1 + harness_draw(40), n = 1 + harness_draw(40);
		/* Small numbers are ties often, and each is a place of its own. */
		uint64_t a[40], b[40], ties[16] = {0};
		struct ptrc_quantiles p = {0}, q = {0};
		struct ptrc_rank_test test;
		double u = 0, tied = 0, all = (double)(m + n), deviation, z;

		for (size_t i = 0; i < m; i++)
			ties[a[i] = harness_draw(12)]++;
		for (size_t i = 0; i < n; i++)
			ties[b[i] = harness_draw(12) + round % 4]++;
		for (size_t i = 0; i < m; i++)
			for (size_t k = 0; k < n; k++)
				u += b[k] > a[i] ? 1 : b[k] == a[i] ? 0.5 : 0;
		for (size_t i = 0; i < 16; i++)
			tied += pow((double)ties[i], 3) - (double)ties[i];
		fill(&p, a, m);
		fill(&q, b, n);
		test = ptrc_ranks_compare(&p, &q);
		deviation = sqrt((double)(m * n) / 12 * (all + 1 - tied / (all * (all - 1))));
		z = (fabs(u - (double)(m * n) / 2) - 0.5) / deviation;
		CHECK(is_near(test.superiority, u / (double)(m * n)));
		CHECK(is_near(test.p_value, deviation > 0 && z > 0 ? erfc(z / sqrt(2)) : 1));
	}
}

TEST(the_test_of_a_quantile_is_exact, "")
{
	/* Of 4 and 4, 1 and 3 are above: 2 * (16 + 1) / 70. */
	static const uint64_t few[] = {1, 1, 1, 100}, many[] = {1, 100, 100, 100};
	struct ptrc_quantiles p = {0}, q = {0};

	fill(&p, few, 4);
	fill(&q, many, 4);
	CHECK(is_near(ptrc_ranks_compare_at(&p, &q, 750), 34.0 / 70));
	CHECK(is_near(ptrc_ranks_compare_at(&q, &p, 750), 34.0 / 70));
	CHECK(is_near(ptrc_ranks_compare_at(&p, &p, 500000), 1));
}

TEST(durations_of_one_bucket_of_the_histogram_differ_in_the_test_of_a_quantile, "")
{
	struct ptrc_quantiles p = {0}, q = {0};

	for (size_t i = 0; i < 100; i++) {
		ptrc_quantiles_add(&p, i < 49 ? 1000 : 1002);
		ptrc_quantiles_add(&q, i < 50 ? 1000 : 3000);
	}
	CHECK(is_near(ptrc_ranks_compare_at(&p, &q, 500000), 1));
}

TEST(durations_of_one_bucket_are_equal_if_one_side_has_only_the_histogram, "")
{
	struct ptrc_quantiles p = {0}, q = {0};

	for (size_t i = 0; i < 1000; i++) {
		ptrc_quantiles_add(&p, 1000 + i % 5);
		ptrc_quantiles_add(&q, 1000 + i % 5);
	}
	free(q.exact);
	q.exact = NULL;
	CHECK(is_near(ptrc_ranks_compare_at(&p, &q, 500000), 1));
	CHECK(is_near(ptrc_ranks_compare_at(&q, &p, 500000), 1));
}

TEST(equal_runs_are_noise_and_shifted_ones_are_not, "")
{
	unsigned int by_order = 0, by_quantile = 0;

	for (size_t round = 0; round < 400; round++) {
		struct ptrc_quantiles p = {0}, q = {0};

		draw(&p, 500, 1);
		draw(&q, 700, 1);
		by_order += ptrc_ranks_compare(&p, &q).p_value < PTRC_RANKS_THRESHOLD;
		by_quantile += ptrc_ranks_compare_at(&p, &q, 990000) < PTRC_RANKS_THRESHOLD;
	}
	/* 0.4 are expected. */
	CHECK(by_order <= 2);
	CHECK(by_quantile <= 2);
	for (size_t round = 0; round < 20; round++) {
		struct ptrc_quantiles p = {0}, q = {0};
		struct ptrc_rank_test test;

		draw(&p, 5000, 1);
		draw(&q, 5000, 1.1);
		test = ptrc_ranks_compare(&p, &q);
		CHECK(test.p_value < PTRC_RANKS_THRESHOLD && test.superiority > 0.5);
		test = ptrc_ranks_compare(&q, &p);
		CHECK(test.p_value < PTRC_RANKS_THRESHOLD && test.superiority < 0.5);
	}
}

TEST(a_tail_that_grew_is_found_by_the_test_of_its_quantile, "")
{
	struct ptrc_quantiles p = {0}, q = {0};

	draw(&p, 9850, 1);
	draw(&q, 9850, 1);
	draw(&p, 150, 1);
	draw(&q, 150, 100);
	CHECK(ptrc_ranks_compare(&p, &q).p_value >= PTRC_RANKS_THRESHOLD);
	CHECK(ptrc_ranks_compare_at(&p, &q, 500000) >= PTRC_RANKS_THRESHOLD);
	CHECK(ptrc_ranks_compare_at(&p, &q, 990000) < PTRC_RANKS_THRESHOLD);
}

TEST(the_tests_take_few_equal_and_very_many_durations, "")
{
	static const uint64_t same[20] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
					  7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
	struct ptrc_quantiles p = {0}, q = {0};

	fill(&p, same, 1);
	fill(&q, same, 1);
	CHECK(is_near(ptrc_ranks_compare(&p, &q).p_value, 1));
	CHECK(is_near(ptrc_ranks_compare_at(&p, &q, 990000), 1));
	fill(&p, same, 19);
	fill(&q, same, 19);
	CHECK(is_near(ptrc_ranks_compare(&p, &q).p_value, 1));
	CHECK(is_near(ptrc_ranks_compare(&p, &q).superiority, 0.5));
	/* As many as a long trace has, of which only the histogram is kept: nothing overflows. */
	free(p.exact);
	free(q.exact);
	p.exact = q.exact = NULL;
	for (size_t i = 0; i < p.place_count; i++)
		p.counts[i] *= UINT64_C(1) << 40;
	for (size_t i = 0; i < q.place_count; i++)
		q.counts[i] *= UINT64_C(1) << 41;
	p.count <<= 40;
	q.count <<= 41;
	ptrc_quantiles_add(&q, 1000);
	CHECK(ptrc_ranks_compare(&p, &q).p_value > 0.1);
	CHECK(ptrc_ranks_compare_at(&p, &q, 990000) > 0.1);
}

/* ---- conditions ---- */

static const char *reason_of(const char *text)
{
	static struct ptrc_cli_reason why;
	struct ptrc_conditions c = {0};
	bool is_read = ptrc_conditions_add(&c, text, &why);

	ptrc_conditions_free(&c);
	return is_read ? "" : why.text;
}

TEST(conditions_are_read, "")
{
	/* clang-format off */
	static const char *const good[] = {
		"p99 req > +10%", "p50 a..b by data.id >= 5ms", "max req<1m30s",
		"min  a > b  <= -2us  ", "count app.error > +0", "rate db.query < -20.5%",
		"loss > 0", "loss >= +1e3", "p90 x > +1h", "p99.9 x by data.id > +1h", "p75 x > 1h",
	};
	/* clang-format on */
	struct ptrc_cli_reason why;
	struct ptrc_conditions c = {0};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		CHECK_STR_EQ(reason_of(good[i]), "");
	CHECK(ptrc_conditions_add(&c, " min  a > b  <= -2us  ", &why));
	CHECK_EQ(c.list[0].what, PTRC_CONDITION_QUANTILE);
	CHECK_EQ(c.list[0].per_million, 0);
	CHECK_STR_EQ(c.list[0].name, "a > b");
	CHECK(!c.list[0].is_above && c.list[0].is_equal_included && c.list[0].is_change &&
	      !c.list[0].is_percent && c.list[0].limit == -2000);
	ptrc_conditions_free(&c);
}

TEST(wrong_conditions_get_column_and_reason, "")
{
	static const struct {
		const char *text;
		const char *reason;
	} wrong[] = {
		{"", "column 1: '' is none of count"},
		{"p100 req > +10%",
		 "column 1: 'p100' is none of count, rate, loss, min, max and quantiles such as "
		 "p50 or p99.9"},
		{"p99 ..req > +10%",
		 "column 5: '..req' is not X, for X.begin..X.end, or BEGIN..END"},
		{" cuont x > 1", "column 2: 'cuont' is none of"},
		{"p99 req", "column 8: one of > >= < <= and a limit are missing"},
		{"p99 > +10%", "column 5: the name of a pair is missing"},
		{"count > 1", "column 7: the name of a pair or an event type is missing"},
		{"loss req > 1", "column 6: 'loss' is of the whole log"},
		{"p99 req >", "column 10: a limit is missing"},
		{"p99 req > 10%", "column 11: write +10% or -10%"},
		{"p99 req > +x%", "column 12: 'x%' is not a number of percent"},
		{"p99 req > 5", "column 11: '5' is neither a duration"},
		{"p99 req > +5 parsecs", "column 12: '5 parsecs' is neither a duration"},
		{"count req > 5ms", "column 13: '5ms' is neither a number"},
		{"count req > --5", "column 14: '-5' is neither a number"},
		{"rate req > +", "column 13: '' is neither a number"},
		/* What a double does not hold. */
		{"count req > 1e309", "column 13: '1e309' is beyond the largest number"},
		{"rate req < 1e5000", "column 12: '1e5000' is beyond the largest number"},
		{"p99 req > +1e309%", "column 12: '1e309%' is beyond the largest number"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (strncmp(reason_of(wrong[i].text), wrong[i].reason, strlen(wrong[i].reason)) !=
		    0)
			harness_fail("%s: %s", wrong[i].text, reason_of(wrong[i].text));
}

/* ---- several logs on a side ---- */

static double compare_two(const double *a, size_t a_count, const double *b, size_t b_count)
{
	double all[80], p_value;

	memcpy(all, a, a_count * sizeof(*all));
	memcpy(all + a_count, b, b_count * sizeof(*all));
	ptrc_runs_compare(all, 1, a_count, b_count, &p_value);
	return p_value;
}

TEST(runs_are_compared_by_permutation, "")
{
	static const double low[] = {1, 2, 3, 4}, high[] = {11, 12, 13, 14},
			    mixed[] = {1, 13, 3, 12}, same[] = {0.1, 0.1, 0.1, 0.1};
	double many[2][40], p;

	/* Two of 70 ways. */
	CHECK(is_near(compare_two(low, 4, high, 4), 2.0 / 70));
	CHECK(is_near(compare_two(high, 4, low, 4), 2.0 / 70));
	CHECK(is_near(compare_two(low, 4, low, 4), 1));
	CHECK(is_near(compare_two(same, 4, same, 3), 1));
	CHECK(compare_two(mixed, 4, high, 4) > 0.05);
	CHECK(is_near(compare_two(low, 1, high, 1), 1));
	CHECK(is_near(ptrc_runs_least(4, 4), 2.0 / 70) && is_near(ptrc_runs_least(1, 3), 0.25) &&
	      is_near(ptrc_runs_least(3, 4), 1.0 / 35));
	CHECK(ptrc_runs_least(PTRC_RUNS_ENOUGH, PTRC_RUNS_ENOUGH) < PTRC_RUNS_THRESHOLD &&
	      ptrc_runs_least(PTRC_RUNS_ENOUGH - 1, PTRC_RUNS_ENOUGH - 1) >= PTRC_RUNS_THRESHOLD);
	for (size_t i = 0; i < 40; i++) {
		many[0][i] = (double)i;
		many[1][i] = (double)i + 100;
	}
	p = compare_two(many[0], 40, many[1], 40);
	CHECK(p > 0 && p < 0.001 && is_near(p, compare_two(many[0], 40, many[1], 40)));
	CHECK(is_near(compare_two(many[0], 40, many[0], 40), 1));
}

enum { RUNS = 9, TESTS = 4 };

/* The statistic as it is defined, with the runs of the bit mask as one group. */
static double statistic_of(const double *row, unsigned int mask)
{
	double sums[2] = {0}, counts[2] = {0}, sum = 0, squares = 0, known = 0, mean;

	for (size_t i = 0; i < RUNS; i++)
		if (!isnan(row[i])) {
			sum += row[i];
			known++;
		}
	mean = sum / known;
	for (size_t i = 0; i < RUNS; i++) {
		double value = isnan(row[i]) ? mean : row[i];

		sums[mask >> i & 1] += value;
		counts[mask >> i & 1]++;
		squares += (value - mean) * (value - mean);
	}
	return fabs(sums[0] / counts[0] - sums[1] / counts[1]) / sqrt(squares / RUNS);
}

TEST(the_joint_test_of_runs_is_that_of_the_definition, "")
{
	for (size_t round = 0; round < 50; round++) {
		unsigned int first = 2 + (unsigned int)harness_draw(RUNS - 3);
		double values[TESTS][RUNS], copy[TESTS][RUNS], p_values[TESTS];
		double ways = 0, as_great[TESTS] = {0};

		for (size_t t = 0; t < TESTS; t++)
			for (size_t i = 0; i < RUNS; i++)
				values[t][i] = i > 1 && !harness_draw(6)
						       ? (double)NAN
						       : (double)harness_draw(1000) + (double)i;
		for (unsigned int mask = 0; mask < 1U << RUNS; mask++) {
			double greatest = 0;

			if ((unsigned int)__builtin_popcount(mask) != first)
				continue;
			ways++;
			for (size_t t = 0; t < TESTS; t++)
				greatest = fmax(greatest, statistic_of(values[t], mask));
			for (size_t t = 0; t < TESTS; t++)
				as_great[t] +=
					greatest >=
					statistic_of(values[t], (1U << first) - 1) * (1 - 1e-9);
		}
		memcpy(copy, values, sizeof(copy));
		ptrc_runs_compare(&copy[0][0], TESTS, first, RUNS - first, p_values);
		for (size_t t = 0; t < TESTS; t++)
			CHECK(is_near(p_values[t], as_great[t] / ways));
	}
}

/* Returns durations of a log whose machine was busier or less busy than others. */
static struct ptrc_quantiles draw_run(double scale)
{
	struct ptrc_quantiles q = {0};

	draw(&q, 200, scale * (1 + (double)harness_draw(1000) / 5000));
	return q;
}

/* Compares logs with these pairs, a number of logs on each side. After the change the first pair takes `growth` times
 * as long; nothing else differs. */
static struct ptrc_diff compare_logs(size_t pair_count, size_t log_count, double growth)
{
	static struct ptrc_pairs pairs;
	struct ptrc_diff d = {.pairs = &pairs};

	for (size_t i = 0; i < PTRC_DIFF_SIDES; i++)
		for (size_t k = 0; k < log_count; k++)
			*ptrc_append(d.sides[i].logs, d.sides[i].log_count) = ptrc_cli_copy("log");
	for (size_t n = 0; n < pair_count; n++) {
		char name[2] = {(char)('a' + n), 0};
		struct ptrc_diff_pair *p =
			ptrc_table_find(&d.pair_table, name, sizeof(name), sizeof(*p));

		p->whole_name = (const char *)p->entry.key;
		p->pair.name = ptrc_cli_copy(name);
		for (size_t i = 0; i < PTRC_DIFF_SIDES; i++)
			for (size_t k = 0; k < log_count; k++) {
				struct ptrc_quantiles q = draw_run(i && !n ? growth : 1);

				ptrc_quantiles_merge(&p->sides[i].lengths, &q);
				*ptrc_append(p->sides[i].runs, p->sides[i].run_count) = q;
			}
	}
	ptrc_diff_end(&d);
	return d;
}

enum { PAIRS = 2 };

/* Fills in the p-values of one log on each side: for each pair that of the ranks, then those of the quantiles. */
static void correct_together(const struct ptrc_diff *d, const unsigned int *quantiles, size_t count,
			     double p_values[PAIRS][1 + PTRC_QUANTILES_SHOWN + 1])
{
	double *list[PAIRS * (1 + PTRC_QUANTILES_SHOWN + 1)];
	size_t list_count = 0;

	for (size_t i = 0; i < PAIRS; i++) {
		const struct ptrc_diff_pair_side *s = d->pair_list[i]->sides;

		p_values[i][0] = ptrc_ranks_compare(&s[0].lengths, &s[1].lengths).p_value;
		for (size_t k = 0; k < count; k++)
			p_values[i][1 + k] =
				ptrc_ranks_compare_at(&s[0].lengths, &s[1].lengths, quantiles[k]);
		for (size_t k = 0; k <= count; k++)
			list[list_count++] = &p_values[i][k];
	}
	ptrc_ranks_correct(list, list_count);
}

TEST(all_tests_of_one_log_on_each_side_are_corrected_together, "")
{
	static const unsigned int quantiles[] = {500000, 900000, 990000, 750000};
	struct ptrc_diff d = compare_logs(PAIRS, 1, 1.2);
	double p_values[PAIRS][1 + PTRC_QUANTILES_SHOWN + 1];

	correct_together(&d, quantiles, 3, p_values);
	for (size_t i = 0; i < PAIRS; i++) {
		const struct ptrc_diff_pair *p = d.pair_list[i];

		CHECK(is_near(p->test.p_value, p_values[i][0]));
		for (size_t k = 0; k < 3; k++)
			CHECK(is_near(p->p_values[k], p_values[i][1 + k]) &&
			      is_near(ptrc_diff_test(&d, p, quantiles[k]), p->p_values[k]));
	}
	/* A quantile that is not shown is one more test of each pair. */
	correct_together(&d, quantiles, 4, p_values);
	for (size_t i = 0; i < PAIRS; i++)
		CHECK(is_near(ptrc_diff_test(&d, d.pair_list[i], 750000), p_values[i][4]));
}

TEST(a_comparison_of_equal_runs_reports_a_change_as_rarely_as_promised, "")
{
	enum { ROUNDS = 800 };
	unsigned int reported = 0;

	for (size_t round = 0; round < ROUNDS; round++) {
		struct ptrc_diff d = compare_logs(3, 5, 1);
		bool is_noise = true;

		for (size_t i = 0; i < d.pair_count; i++)
			is_noise &= d.pair_list[i]->verdict == PTRC_DIFF_NOISE;
		reported += !is_noise;
	}
	harness_note("%u of %d", reported, ROUNDS);
	CHECK(reported <= ROUNDS * 8 / 100);
}

TEST(a_great_change_is_found_by_four_logs_on_each_side_among_many_pairs, "")
{
	struct ptrc_diff d = compare_logs(10, 4, 2);

	for (size_t i = 0; i < d.pair_count; i++)
		CHECK_EQ(d.pair_list[i]->verdict,
			 *d.pair_list[i]->pair.name == 'a' ? PTRC_DIFF_SLOWER : PTRC_DIFF_NOISE);
}

TEST(p_values_are_corrected_for_their_number, "")
{
	double p[] = {0.03, 0.01, 0.04, 0.9};
	double *list[] = {&p[0], &p[1], &p[2], &p[3]};

	ptrc_ranks_correct(list, 4);
	CHECK(is_near(p[1], 0.04) && is_near(p[0], 0.09) && is_near(p[2], 0.09) &&
	      is_near(p[3], 0.9));
	ptrc_ranks_correct(list, 0);
}
