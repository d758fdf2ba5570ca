/* SPDX-License-Identifier: MIT */
/*
 * Conditions of --fail-if on the differences between logs:
 *
 * 	condition   what [ name ] relation limit
 * 	what        "count" | "rate" | "loss" | "min" | "max" | "p" number
 * 	relation    ">" | ">=" | "<" | "<="
 * 	limit       ( "+" | "-" ) number "%"    compared with the change in percent
 * 	            ( "+" | "-" ) amount        compared with the change in events or time
 * 	            amount                      compared with the value after the change
 *
 * The name is that of a pair (X or BEGIN..END, perhaps by FIELD) or, for count and rate, of an event
 * type; loss has none. min, max and p99.9 are quantiles of durations. An amount of time has a unit, such as 5ms.
 */
#ifndef PTRC_SRC_DIFF_CONDITIONS_H
#define PTRC_SRC_DIFF_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/message.h"
#include "src/diff/diff.h"

enum ptrc_condition_what {
	PTRC_CONDITION_COUNT,
	PTRC_CONDITION_RATE,
	PTRC_CONDITION_LOSS,
	PTRC_CONDITION_QUANTILE,
};

enum ptrc_condition_verdict {
	/* The condition does not hold: this is what the user wants. */
	PTRC_CONDITION_PASSED,
	/* The condition holds. */
	PTRC_CONDITION_FAILED,
	/* The condition holds, but it may do so by chance, as the statistical test shows (NOISE), or there are too
	 * few durations for the test (FEW). */
	PTRC_CONDITION_NOISE,
	PTRC_CONDITION_FEW,
	/* The logs lack the event type or pair, or the value that the condition compares. */
	PTRC_CONDITION_MISSING,
};

struct ptrc_condition {
	/* The condition as the user wrote it. */
	const char *text;
	enum ptrc_condition_what what;
	/* The quantile: 0 is the shortest duration, PTRC_QUANTILE_MAX the longest. */
	unsigned int per_million;
	/* The name as the user wrote it (empty for loss), and the pair that it means. A condition on
	 * count or rate is about the event type of this name, if the logs have it, not about the pair. */
	char *name;
	struct ptrc_pair pair;
	bool is_above;
	/* Whether a value that is equal to the limit counts, too. */
	bool is_equal_included;
	/* is_change: the limit is for the difference of the two values; otherwise it is for the value of the logs from
	 * after the change. `limit` is in percent if is_percent, else in nanoseconds (quantiles) or in events or events
	 * per second. */
	bool is_change;
	bool is_percent;
	double limit;
	/* Filled in by ptrc_conditions_judge(). The values, before and after the change, are not valid with
	 * PTRC_CONDITION_MISSING. values[0] is negative if it is a rate that is unknown. */
	enum ptrc_condition_verdict verdict;
	double values[PTRC_DIFF_SIDES];
};

/* Starts zeroed. */
struct ptrc_conditions {
	struct ptrc_condition *list;
	size_t count;
};

/* Reads a condition, which then points to the text. If the text is wrong, returns false with a reason that
 * starts with the column. */
bool ptrc_conditions_add(struct ptrc_conditions *, const char *text, struct ptrc_cli_reason *why);

/* Adds to the ptrc_pairs each pair that a condition names, unless they have it already or will find it in the logs by
 * the names of its event types. Returns false, with the reason, if the field of a pair does not exist; but the name in
 * a condition that counts may be that of an event type. */
bool ptrc_conditions_add_pairs(const struct ptrc_conditions *, struct ptrc_pairs *,
			       const struct ptrc_layouts *, struct ptrc_cli_reason *why);

/* Returns false, with the reason, if the name of a condition means several pairs. */
bool ptrc_conditions_suit(const struct ptrc_conditions *, const struct ptrc_pairs *,
			  struct ptrc_cli_reason *why);

/* Judges all conditions. Prints a message for each condition whose verdict is MISSING, NOISE or
 * FEW. */
void ptrc_conditions_judge(struct ptrc_conditions *, const struct ptrc_diff *);

bool ptrc_conditions_has(const struct ptrc_conditions *, enum ptrc_condition_verdict);

void ptrc_conditions_free(struct ptrc_conditions *);

#endif
