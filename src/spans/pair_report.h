/* SPDX-License-Identifier: MIT */
/* The durations of pairs as a table and as JSON, and messages about events that are in no pair. */
#ifndef PTRC_SRC_SPANS_PAIR_REPORT_H
#define PTRC_SRC_SPANS_PAIR_REPORT_H

#include <stdbool.h>

#include "src/base/json.h"
#include "src/spans/pairs.h"
#include "src/query/query.h"

/* Puts the table, with the histogram of each row below it if that is wanted. */
void ptrc_pairs_put_text(struct ptrc_buffer *, const struct ptrc_pairs *, bool has_histogram);

/* Puts the members that identify the pair. */
void ptrc_pair_json(struct ptrc_json *, const struct ptrc_pair *);

/* Puts the members that count events without their other half, and events without a key. */
void ptrc_pair_halves_json(struct ptrc_json *, const struct ptrc_pair_halves *,
			   uint64_t without_key);

/* Puts the member "pairs" of the open object. */
void ptrc_pairs_json(const struct ptrc_pairs *, struct ptrc_json *, bool has_histogram);

/* Prints "NAME: 3 begins without end" and `rest` for each pair with halves. `cut` says what a half with a loss is. */
void ptrc_pairs_report_halves(const struct ptrc_pairs *, const char *rest, const char *cut);

/*
 * Prints messages: which event types of the pairs no source has; whether no event has the field of --per or
 * --label-by; and, if the user asked for pairs by their names (has_asked), that there are none. Returns whether
 * anything of this kind was missing.
 */
bool ptrc_pairs_report_missing(const struct ptrc_pairs *, const struct ptrc_query *,
			       bool has_asked);

#endif
