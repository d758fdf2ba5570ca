/* SPDX-License-Identifier: MIT */
/* Prints the durations of pairs, as a table or as JSON, and messages about events that belong to no pair. */
#ifndef PTRC_SRC_SPANS_PAIR_REPORT_H
#define PTRC_SRC_SPANS_PAIR_REPORT_H

#include <stdbool.h>

#include "src/base/json.h"
#include "src/spans/pairs.h"
#include "src/query/query.h"

/* Appends the table of durations; if has_histogram, with a histogram below each row. */
void ptrc_pairs_put_text(struct ptrc_buffer *, const struct ptrc_pairs *, bool has_histogram);

/* Appends the name of the pair, with its key: "NAME by FIELD". */
void ptrc_pair_put_name(struct ptrc_buffer *, const struct ptrc_pair *);

/* Puts the JSON members that identify the pair. */
void ptrc_pair_json(struct ptrc_json *, const struct ptrc_pair *);

/* Puts the JSON members that count halves (begins without end, ends without begin, and pairs cut by lost events),
 * and events that lack the field that is the key. */
void ptrc_pair_halves_json(struct ptrc_json *, const struct ptrc_pair_halves *,
			   uint64_t without_key);

/* Puts the JSON member "pairs" into the open object. */
void ptrc_pairs_json(const struct ptrc_pairs *, struct ptrc_json *, bool has_histogram);

/* For each pair that has halves, prints a message such as "NAME: 3 begins without end", followed by `rest`. `cut`
 * is the text that follows the number of cut pairs, such as "cut by lost events". */
void ptrc_pairs_report_halves(const struct ptrc_pairs *, const char *rest, const char *cut);

/* Prints messages if a field that both events have shows that it was wrong to form the pairs by thread (.is_crossed,
 * .is_across_threads), and how to form them by that field: in a rule (is_of_rule) or by the option --pair. */
void ptrc_pair_report_order(const struct ptrc_pair *, const char *thing, bool is_of_rule);

/*
 * Prints messages: which event types of the pairs no source has; whether no event has the field of `by`,
 * --per or --label-by; and, if the user asked for the pairs that the names of event types make (has_asked), that
 * there are none. Returns whether anything of this kind was missing.
 */
bool ptrc_pairs_report_missing(const struct ptrc_pairs *, struct ptrc_query *, bool has_asked);

/* Notes the event types of the first `count` pairs that no source has: each by itself, because another log may have only
 * one of a pair's two. */
void ptrc_pairs_find_missing_types(const struct ptrc_pairs *, size_t count,
				   const struct ptrc_query *, struct ptrc_missing *);

/* Notes the fields of `by` that are members of data and that no event of the pair has. */
void ptrc_pairs_find_missing(const struct ptrc_pairs *, struct ptrc_query *, struct ptrc_missing *);

#endif
