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
#include <stdint.h>
#include <sys/types.h>

struct ptrc_pair_tree;
struct ptrc_tree_node;

enum ptrc_tree_line_kind { PTRC_TREE_OPEN, PTRC_TREE_CLOSE, PTRC_TREE_LEAF };

struct ptrc_tree_line {
	enum ptrc_tree_line_kind kind;
	/* The number of the pair. */
	size_t pair;
	size_t depth;
	/* Of a line that has an end: there is none if events were lost between both. */
	bool has_duration;
	uint64_t duration_ns;
	/* What was given with the events; of a line that opens there is no end. */
	void *begin;
	void *end;
};

/* The thread of an event: of a source of this number. */
struct ptrc_tree_thread {
	size_t source;
	pid_t pid;
	pid_t tid;
};

/* Makes a tree, which gives its lines to the function. If it holds, the end of a pair decides whether
 * the pair is shown. */
struct ptrc_pair_tree *ptrc_pair_tree_make(bool is_holding,
					   void (*put)(void *arg, const struct ptrc_tree_line *),
					   void *arg);

/* Takes the begin of a pair. The tree frees `begin`. */
struct ptrc_tree_node *ptrc_pair_tree_begin(struct ptrc_pair_tree *, size_t pair,
					    const struct ptrc_tree_thread *, void *begin);

/* Takes the end of a pair, or, if `end` is null, learns that there is none. The tree frees it. */
void ptrc_pair_tree_end(struct ptrc_pair_tree *, struct ptrc_tree_node *, bool is_shown,
			const uint64_t *duration_ns, void *end);

/* Forgets a begin whose end nobody will tell of. Nothing else may be taken from then on. */
void ptrc_pair_tree_drop(struct ptrc_tree_node *);

/* Frees the tree, in which nothing is open. */
void ptrc_pair_tree_free(struct ptrc_pair_tree *);

#endif
