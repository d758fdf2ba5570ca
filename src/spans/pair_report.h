/* SPDX-License-Identifier: MIT */
/* The durations of pairs as a table for people and as JSON. */
#ifndef PTRC_SRC_SPANS_PAIR_REPORT_H
#define PTRC_SRC_SPANS_PAIR_REPORT_H

#include <stdbool.h>

#include "src/base/json.h"
#include "src/spans/pairs.h"
#include "src/query/query.h"

/* Puts a table, and after each of its lines how many durations of each length there are, if that is
 * wanted. */
void ptrc_pairs_put_text(struct ptrc_buffer *, const struct ptrc_pairs *, bool has_histogram);

/* Puts the members that say which pair it is. */
void ptrc_pair_json(struct ptrc_json *, const struct ptrc_pair *);

/* Puts the members that say what lacks its other half, and how many events had no key. */
void ptrc_pair_halves_json(struct ptrc_json *, const struct ptrc_pair_halves *,
			   uint64_t without_key);

/* Puts the member "pairs" of the open object. */
void ptrc_pairs_json(const struct ptrc_pairs *, struct ptrc_json *, bool has_histogram);

/* Prints a message for each pair that has halves: "NAME: 3 begins without end", followed by `rest`; `cut` are the
 * words for those with a loss. */
void ptrc_pairs_report_halves(const struct ptrc_pairs *, const char *rest, const char *cut);

/*
 * Prints a message for each pair whose event types no source of the query has, and if no event has the field of
 * --per or --label-by, with the nearest field of the layouts. has_asked: the user has asked for pairs by their
 * names, so it also prints one if there are none. Returns whether there was a message of something missing.
 */
bool ptrc_pairs_report_missing(const struct ptrc_pairs *, const struct ptrc_query *,
			       bool has_asked);

#endif
