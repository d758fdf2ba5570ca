/* SPDX-License-Identifier: MIT */
/*
 * Pairs of events in place of events, for ptrace-dump --pair and --pairs: a line for each one, in the
 * order of their ends, or the longest first; or, for --tree, a line for each begin and end that others
 * lie between. Only begins that wait for their ends are kept, and of a tree what has to wait for them.
 */
#ifndef PTRC_SRC_TEXT_PAIR_DUMP_H
#define PTRC_SRC_TEXT_PAIR_DUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "src/spans/pairs.h"
#include "src/text/text.h"

/* Lets the dump show pairs, the longest ones if there are only so many to be shown (UINT64_MAX: all),
 * or as a tree. The pairs have been added, and stay. */
struct ptrc_pair_dump *ptrc_pair_dump_begin(struct ptrc_text *, struct ptrc_pairs *,
					    uint64_t longest_count, bool is_tree);

void ptrc_pair_dump_free(struct ptrc_pair_dump *);

#endif
