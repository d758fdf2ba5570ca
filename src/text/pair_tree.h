/* SPDX-License-Identifier: MIT */
/*
 * Pairs of events as a tree, for ptrace-dump --tree: what a thread begins while something else that it
 * has begun is open lies within that. Lines come in the order of their events. A pair that nothing
 * lies within is one line, so that a begin waits for what its thread does next; and for its end, if
 * that decides whether it is shown.
 */
#ifndef PTRC_SRC_TEXT_PAIR_TREE_H
#define PTRC_SRC_TEXT_PAIR_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/spans/span.h"

enum ptrc_tree_line { PTRC_TREE_OPEN, PTRC_TREE_CLOSE, PTRC_TREE_LEAF };

struct ptrc_tree_node {
	struct ptrc_span span;
	size_t depth;
	/* Its end has come, or never will. */
	bool is_over;
	bool is_shown;
	/* Something that is shown lies within it. */
	bool has_inner;
	/* Its begin was shown as a line by itself. */
	bool is_leaf;
};

/* Starts zeroed but for the first three. */
struct ptrc_pair_tree {
	/* The end of a pair decides whether the pair is shown. */
	bool is_holding;
	void (*put)(void *arg, const struct ptrc_tree_node *, enum ptrc_tree_line);
	void *arg;
	struct waiting *first;
	struct waiting *last;
	size_t waiting_count;
};

/* Takes the begin of a pair. */
void ptrc_pair_tree_begin(struct ptrc_pair_tree *, struct ptrc_spans *, struct ptrc_tree_node *);

/* Takes a pair that is over. */
void ptrc_pair_tree_end(struct ptrc_pair_tree *, struct ptrc_tree_node *, bool is_shown);

void ptrc_pair_tree_free(struct ptrc_pair_tree *);

#endif
