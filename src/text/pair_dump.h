/* SPDX-License-Identifier: MIT */
/* Prints pairs of events, for ptrace-dump --pair and --pairs. Each pair is a line. The lines are sorted by the
 * time of the last event, or with the longest pairs first. With --tree, a pair that contains other pairs has two
 * lines, one for each of its events. */
#ifndef PTRC_SRC_TEXT_PAIR_DUMP_H
#define PTRC_SRC_TEXT_PAIR_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "src/spans/pairs.h"
#include "src/text/text.h"

/* Makes an output of pairs, and has the query give it the events. The caller has added the pairs, which must
 * stay in memory. Shows the longest_count longest pairs (UINT64_MAX: all pairs, by time) or, if is_tree, all
 * pairs as a tree. */
struct ptrc_pair_dump *ptrc_pair_dump_begin(struct ptrc_text *, struct ptrc_pairs *,
					    uint64_t longest_count, bool is_tree);

void ptrc_pair_dump_free(struct ptrc_pair_dump *);

#endif
