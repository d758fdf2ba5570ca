/* SPDX-License-Identifier: MIT */
/* What was measured of pairs, as a table for people and as JSON. */
#ifndef PTRC_SRC_PAIRS_PAIR_REPORT_H
#define PTRC_SRC_PAIRS_PAIR_REPORT_H

#include <stdbool.h>

#include "src/cli/json.h"
#include "src/pairs/pairs.h"
#include "src/query/query.h"

/* Puts a table, and behind each of its lines how many durations of each length there are, if that is
 * wanted. */
void ptrc_pairs_put_text(struct ptrc_buffer *, const struct ptrc_pairs *, bool has_histogram);

/* Puts the member "pairs" of the open object. */
void ptrc_pairs_json(const struct ptrc_pairs *, struct ptrc_json *, bool has_histogram);

/* Prints a message for each pair whose event types none of the logs or sessions has, if no
 * pair was found by its name, and if no event has the field of --per or --label-by, of which the layouts may have
 * one that is like it. Returns whether there was one. */
bool ptrc_pairs_report_missing(const struct ptrc_pairs *, struct ptrc_reader *const *, size_t count,
			       const struct ptrc_layouts *, const char *thing);

/* The same for the sources of a query. has_asked: somebody has asked for pairs by their names, so that it is
 * told if there are none. */
bool ptrc_pairs_report_missing_in(struct ptrc_pairs *, const struct ptrc_query *, bool has_asked);

#endif
