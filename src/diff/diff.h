/* SPDX-License-Identifier: MIT */
/* Compares logs from before a change with logs from after it: the number of events of each type, losses, and
 * durations of pairs of events. */
#ifndef PTRC_SRC_DIFF_DIFF_H
#define PTRC_SRC_DIFF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/diff/ranks.h"
#include "src/spans/pairs.h"
#include "src/base/table.h"
#include "src/query/query.h"

enum { PTRC_DIFF_BEFORE, PTRC_DIFF_AFTER, PTRC_DIFF_SIDES };

struct ptrc_diff_side {
	char **logs;
	size_t log_count;
	/* The number of events of the types that are shown, filled in by ptrc_diff_end(). */
	uint64_t event_count;
	/* The time from the first event of a log to its last one, selected or not, without those of flushes, as far as
	 * it is in the selected time; summed over all logs of the side. */
	uint64_t span_ns;
	/* The number of missing events. Each log with incomplete data counts as at least 1. */
	uint64_t lost_count;
	bool is_complete;
};

struct ptrc_diff_type {
	/* The entry in .type_table of struct ptrc_diff. Its key is the name with its null byte. */
	struct ptrc_table_entry entry;
	const char *name;
	uint64_t counts[PTRC_DIFF_SIDES];
};

enum ptrc_diff_verdict {
	/* Only the logs after the change have durations (NEW); only those before it have some (GONE); no log
	 * has any (NONE). */
	PTRC_DIFF_NEW,
	PTRC_DIFF_GONE,
	PTRC_DIFF_NONE,
	/* Durations after the change are longer (SLOWER) or shorter (FASTER) by more than chance.
	 * The rank test shows this if each side has one log; otherwise the tests of the quantiles
	 * do. */
	PTRC_DIFF_SLOWER,
	PTRC_DIFF_FASTER,
	/* CHANGED: with one log on each side, only the test of a quantile finds a difference; with
	 * several logs, some quantiles are longer and others shorter. NOISE: no test finds a
	 * difference. */
	PTRC_DIFF_CHANGED,
	PTRC_DIFF_NOISE,
	/* There are too few durations for a test, or too few logs that have durations. */
	PTRC_DIFF_FEW,
};

struct ptrc_diff_pair {
	/* The entry in .pair_table of struct ptrc_diff. Its key is BEGIN..END by FIELD, with the null byte. */
	struct ptrc_table_entry entry;
	const char *whole_name;
	/* Only its names, .by_text, .has_key and .cut_keys, of all logs, are set. */
	struct ptrc_pair pair;
	struct ptrc_diff_pair_side {
		struct ptrc_quantiles lengths;
		/* The durations of each log, by its index. Logs from index run_count on lack the pair. */
		struct ptrc_quantiles *runs;
		size_t run_count;
		struct ptrc_pair_halves halves;
		uint64_t without_key;
	} sides[PTRC_DIFF_SIDES];
	/* A log has shown that it was wrong to form the pairs by thread, and a message has said so. */
	bool is_in_doubt;
	/* Filled in by ptrc_diff_end(). The tests are valid if both sides have durations. If each side has exactly
	 * one log, `test` is the rank test; otherwise its p-value is the least one of p_values. The p-values are
	 * corrected for the number of tests, except with PTRC_DIFF_FEW. */
	enum ptrc_diff_verdict verdict;
	struct ptrc_rank_test test;
	double p_values[PTRC_QUANTILES_SHOWN];
	/* For each quantile, whether its test shows that the change is more than chance. */
	bool is_changed[PTRC_QUANTILES_SHOWN];
};

/* Zeroed at the start, except for pairs and asked_count. */
struct ptrc_diff {
	struct ptrc_query *query;
	/* The side to which the current log belongs. */
	size_t side;
	/* The pairs whose durations are compared. They belong to the caller. */
	struct ptrc_pairs *pairs;
	/* The number of the first pairs that are shown even if no log has events of them. */
	size_t asked_count;
	struct ptrc_diff_side sides[PTRC_DIFF_SIDES];
	struct ptrc_table type_table;
	struct ptrc_table pair_table;
	/* The event types that are shown, and the pairs, sorted by ptrc_diff_end(): those with the largest change
	 * first. */
	struct ptrc_diff_type **types;
	size_t type_count;
	/* A log has events of the operating system, which are not shown (is_without_os of the pairs). */
	bool has_hidden;
	struct ptrc_diff_pair **pair_list;
	size_t pair_count;
};

/* Lets a query pass its events to the diff. The query's only source is a log of this side. */
void ptrc_diff_begin(struct ptrc_diff *, size_t side, struct ptrc_query *);

/* Compares the sides. Called once, after the last log was read. */
void ptrc_diff_end(struct ptrc_diff *);

/* Events per second; negative if the logs of the side show no time. */
double ptrc_diff_rate(const struct ptrc_diff_side *, uint64_t count);

/* Returns the p-value of a quantile for a pair that has durations on both sides. It is corrected for the tests of all
 * pairs: of the quantiles that are shown and, if it is not one of them, of this quantile. */
double ptrc_diff_test(const struct ptrc_diff *, const struct ptrc_diff_pair *,
		      unsigned int per_million);

/* A quantile of the pair on a side, by its index in ptrc_quantiles_shown. */
static inline uint64_t ptrc_diff_quantile(const struct ptrc_diff_pair *p, size_t side, size_t i)
{
	return ptrc_quantiles_at(&p->sides[side].lengths, ptrc_quantiles_shown[i].per_million);
}

/* Returns the number of the side's logs that have durations of the pair. */
size_t ptrc_diff_logs_with(const struct ptrc_diff_pair_side *);

/* Whether a side has too few durations of the pair for a test. */
bool ptrc_diff_has_few_durations(const struct ptrc_diff_pair *);

/* Whether each side has exactly one log. Then the tests compare durations; otherwise they compare logs. */
bool ptrc_diff_is_single(const struct ptrc_diff *);

/* The threshold of p-values: a p-value below it means a change, not noise. */
double ptrc_diff_threshold(const struct ptrc_diff *);

/* The relative change of a value; infinite if the value was 0 before and is not 0 after. */
double ptrc_diff_change(double before, double after);

void ptrc_diff_free(struct ptrc_diff *);

#endif
