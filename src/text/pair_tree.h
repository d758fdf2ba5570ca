/* SPDX-License-Identifier: MIT */
/*
 * Pairs of events as a tree, for ptrace-dump --tree. A pair lies within another pair if its thread started it while
 * the other pair was open, even if it ended later. The lines are in the order of the events. A pair that contains no
 * other pair is a single line. So the line of a first event must wait for the next event of the thread. If the last
 * event decides whether the pair is shown, the line waits for the last event, and for those of all pairs within.
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
	/* The last event of the pair has come, or will not come. */
	bool is_over;
	bool is_shown;
	/* A pair that is shown lies within this one. */
	bool has_inner;
	/* How many of the pairs directly within this one are not over, or have such pairs within them. */
	size_t open_count;
	/* The pair was shown as a single line. */
	bool is_leaf;
};

/* Starts zeroed, except for the first three members. */
struct ptrc_pair_tree {
	/* Whether a pair is shown depends on its last event, so its lines must wait for that event. */
	bool is_holding;
	void (*put)(void *arg, const struct ptrc_tree_node *, enum ptrc_tree_line);
	void *arg;
	struct waiting *first;
	struct waiting *last;
	size_t waiting_count;
};

/* ptrc_pair_tree_begin() takes a pair that starts, ptrc_pair_tree_end() one that has ended. */
void ptrc_pair_tree_begin(struct ptrc_pair_tree *, struct ptrc_spans *, struct ptrc_tree_node *);
void ptrc_pair_tree_end(struct ptrc_pair_tree *, struct ptrc_tree_node *, bool is_shown);

void ptrc_pair_tree_free(struct ptrc_pair_tree *);

#endif
