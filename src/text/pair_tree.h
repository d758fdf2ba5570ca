/* SPDX-License-Identifier: MIT */
/*
 * Pairs of events as a tree, for ptrace-dump --tree. A pair lies within another one if its thread started it while
 * the other one was open. Lines come in the order of their events. A pair with no other pair within is one line; so
 * the line of a first event waits until its thread's next event, and, if the last event decides whether the pair is
 * shown, until that.
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
	/* Its last event has come, or will not come. */
	bool is_over;
	bool is_shown;
	/* A pair that is shown lies within it. */
	bool has_inner;
	/* It was shown as one line. */
	bool is_leaf;
};

/* Starts zeroed but for the first three. */
struct ptrc_pair_tree {
	/* The last event of a pair decides whether the pair is shown. */
	bool is_holding;
	void (*put)(void *arg, const struct ptrc_tree_node *, enum ptrc_tree_line);
	void *arg;
	struct waiting *first;
	struct waiting *last;
	size_t waiting_count;
};

/* Take a pair that starts, and one that is over. */
void ptrc_pair_tree_begin(struct ptrc_pair_tree *, struct ptrc_spans *, struct ptrc_tree_node *);
void ptrc_pair_tree_end(struct ptrc_pair_tree *, struct ptrc_tree_node *, bool is_shown);

void ptrc_pair_tree_free(struct ptrc_pair_tree *);

#endif
