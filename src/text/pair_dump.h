/* SPDX-License-Identifier: MIT */
/* Pairs of events as lines, for ptrace-dump --pair and --pairs: one for each pair, by the time of the last event or
 * with the longest first. With --tree, a pair that contains others has a line for each of its two events. */
#ifndef PTRC_SRC_TEXT_PAIR_DUMP_H
#define PTRC_SRC_TEXT_PAIR_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "src/spans/pairs.h"
#include "src/text/text.h"

/* Makes pairs, which have been added and stay, the sink of the query: the longest_count longest ones (UINT64_MAX:
 * all, by time), or all as a tree. */
struct ptrc_pair_dump *ptrc_pair_dump_begin(struct ptrc_text *, struct ptrc_pairs *,
					    uint64_t longest_count, bool is_tree);

void ptrc_pair_dump_free(struct ptrc_pair_dump *);

#endif
