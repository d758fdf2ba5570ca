/* SPDX-License-Identifier: MIT */
/*
 * What differs between logs from before a change and logs from after it: how often events of each type
 * came, what was lost, and how long pairs of events took.
 */
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
	/* From the first event of each log to its last one; all of them together. */
	uint64_t span_ns;
	/* Events that are missing, at least 1 if the data is incomplete. */
	uint64_t lost_count;
	bool is_complete;
};

struct ptrc_diff_type {
	struct ptrc_table_entry entry;
	char *name;
	uint64_t counts[PTRC_DIFF_SIDES];
};

enum ptrc_diff_verdict {
	/* It is on one side only, or on neither. */
	PTRC_DIFF_NEW,
	PTRC_DIFF_GONE,
	PTRC_DIFF_NONE,
	/* The rank test finds a difference. */
	PTRC_DIFF_SLOWER,
	PTRC_DIFF_FASTER,
	/* It does not, but the test of a quantile does. */
	PTRC_DIFF_CHANGED,
	PTRC_DIFF_NOISE,
	/* There are too few durations, or too few logs that have some. */
	PTRC_DIFF_FEW,
};

struct ptrc_diff_pair {
	struct ptrc_table_entry entry;
	/* The names of its types, and the field or null; its name, and its whole name BEGIN..END by
	 * FIELD. */
	char *begin;
	char *end;
	char *by;
	char *name;
	char *whole_name;
	struct ptrc_diff_pair_side {
		struct ptrc_quantiles lengths;
		/* The same of each log; logs after the last of these have none. */
		struct ptrc_quantiles *runs;
		size_t run_count;
		struct ptrc_pair_halves halves;
		uint64_t without_key;
	} sides[PTRC_DIFF_SIDES];
	/* Filled in by ptrc_diff_end(). The tests are of no use if the pair is on one side only; their
	 * p-values are corrected for the number of tests. That of ranks is of one log on each side. */
	enum ptrc_diff_verdict verdict;
	struct ptrc_rank_test test;
	double p_values[PTRC_QUANTILES_SHOWN];
	/* The change of the quantile is no noise. */
	bool is_changed[PTRC_QUANTILES_SHOWN];
};

/* Starts zeroed but for pairs.is_by_name and what ptrc_pairs_add() has added. */
struct ptrc_diff {
	/* The log whose events come: its side, and the time of its events. */
	struct ptrc_query *query;
	size_t side;
	struct ptrc_period span;
	/* Those that are looked for; the caller has them. */
	struct ptrc_pairs *pairs;
	struct ptrc_diff_side sides[PTRC_DIFF_SIDES];
	struct ptrc_table type_table;
	struct ptrc_table pair_table;
	/* Those that changed most come first; filled in by ptrc_diff_end(). */
	struct ptrc_diff_type **types;
	size_t type_count;
	struct ptrc_diff_pair **pair_list;
	size_t pair_count;
};

/* Lets the events of a query with a single source go to this side. */
void ptrc_diff_begin(struct ptrc_diff *, size_t side, struct ptrc_query *);

/* Compares the sides. Is called once, behind the last log. */
void ptrc_diff_end(struct ptrc_diff *);

/* Events per second; negative if there is no time between events. */
double ptrc_diff_rate(const struct ptrc_diff_side *, uint64_t count);

/* The p-value of any quantile of a pair that both sides have, corrected for the number of pairs. */
double ptrc_diff_test(const struct ptrc_diff *, const struct ptrc_diff_pair *,
		      unsigned int per_mille);

/* Whether there is one log on each side, whose durations are compared; else logs are. */
bool ptrc_diff_is_single(const struct ptrc_diff *);

/* The limit below which a p-value is a change. */
double ptrc_diff_threshold(const struct ptrc_diff *);

/* How much the quantile changed, as a part of what it was. */
double ptrc_diff_change(double before, double after);

void ptrc_diff_free(struct ptrc_diff *);

#endif
