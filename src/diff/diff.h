/* SPDX-License-Identifier: MIT */
/* Compares logs from before a change with logs from after it: counts of events by type, losses, and durations of
 * pairs of events. */
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
	uint64_t event_count;
	/* The sum over the logs of the time from the first event to the last one. */
	uint64_t span_ns;
	/* Missing events; at least 1 for each log with incomplete data. */
	uint64_t lost_count;
	bool is_complete;
};

struct ptrc_diff_type {
	/* The key is the name with its null byte. */
	struct ptrc_table_entry entry;
	const char *name;
	uint64_t counts[PTRC_DIFF_SIDES];
};

enum ptrc_diff_verdict {
	/* Only the logs after the change have durations, only those before it, none. */
	PTRC_DIFF_NEW,
	PTRC_DIFF_GONE,
	PTRC_DIFF_NONE,
	/* The rank test finds a difference. */
	PTRC_DIFF_SLOWER,
	PTRC_DIFF_FASTER,
	/* It does not, but the test of a quantile does. */
	PTRC_DIFF_CHANGED,
	PTRC_DIFF_NOISE,
	/* There are too few durations, or too few logs with durations. */
	PTRC_DIFF_FEW,
};

struct ptrc_diff_pair {
	/* The key is the whole name, BEGIN..END by FIELD, with its null byte. */
	struct ptrc_table_entry entry;
	const char *whole_name;
	/* The names of its types, and the field or NULL; its name. */
	char *begin;
	char *end;
	char *by;
	char *name;
	struct ptrc_diff_pair_side {
		struct ptrc_quantiles lengths;
		/* The same for each log. Logs after run_count have no durations. */
		struct ptrc_quantiles *runs;
		size_t run_count;
		struct ptrc_pair_halves halves;
		uint64_t without_key;
	} sides[PTRC_DIFF_SIDES];
	/* Filled in by ptrc_diff_end(). The tests are valid if both sides have durations, the rank test if each
	 * side is one log. p-values are corrected for the number of tests. */
	enum ptrc_diff_verdict verdict;
	struct ptrc_rank_test test;
	double p_values[PTRC_QUANTILES_SHOWN];
	/* By the test, the change of the quantile is not chance. */
	bool is_changed[PTRC_QUANTILES_SHOWN];
};

/* Starts zeroed except for pairs. */
struct ptrc_diff {
	/* The log that is read, its side, and the time of its events so far. */
	struct ptrc_query *query;
	size_t side;
	struct ptrc_period span;
	/* The caller's. */
	struct ptrc_pairs *pairs;
	struct ptrc_diff_side sides[PTRC_DIFF_SIDES];
	struct ptrc_table type_table;
	struct ptrc_table pair_table;
	/* Sorted by ptrc_diff_end(): the largest change first. */
	struct ptrc_diff_type **types;
	size_t type_count;
	struct ptrc_diff_pair **pair_list;
	size_t pair_count;
};

/* Makes the diff the sink of a query with a single source, a log of this side. */
void ptrc_diff_begin(struct ptrc_diff *, size_t side, struct ptrc_query *);

/* Compares the sides. Called once, after the last log. */
void ptrc_diff_end(struct ptrc_diff *);

/* Events per second; negative if there is no time between events. */
double ptrc_diff_rate(const struct ptrc_diff_side *, uint64_t count);

/* The p-value of a quantile of a pair with durations on both sides, corrected for the number of pairs. */
double ptrc_diff_test(const struct ptrc_diff *, const struct ptrc_diff_pair *,
		      unsigned int per_million);

/* Whether each side is one log. Then the tests compare durations, else logs. */
bool ptrc_diff_is_single(const struct ptrc_diff *);

/* A p-value below this is a change, not noise. */
double ptrc_diff_threshold(const struct ptrc_diff *);

/* The relative change of a value; infinite if it was 0 before. */
double ptrc_diff_change(double before, double after);

void ptrc_diff_free(struct ptrc_diff *);

#endif
