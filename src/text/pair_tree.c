/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/text/pair_tree.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli/message.h"
#include "src/cli/table.h"

/* So many lines wait at most for a begin that may be a line by itself. */
enum { WAITING_MAX = 4096 };

struct ptrc_tree_node {
	/* What it lies within, or null. */
	struct ptrc_tree_node *parent;
	struct thread *thread;
	/* The lines that wait for it, its end that is still to come, and the nodes within it. */
	size_t users;
	size_t pair;
	size_t depth;
	void *begin;
	void *end;
	bool has_duration;
	uint64_t duration_ns;
	/* It is one of those that the thread has begun and that may have others within them. */
	bool is_open;
	/* Its end has come, or never will. */
	bool is_over;
	bool is_shown;
	/* Something that is shown lies within it. */
	bool has_inner;
	/* Its begin was shown as a line by itself. */
	bool is_leaf;
};

struct thread {
	struct ptrc_table_entry entry;
	/* The latest of those that are open, or null. */
	struct ptrc_tree_node *latest;
};

/* A line that was not written yet: the begin or the end of a node. */
struct waiting {
	struct waiting *next;
	struct ptrc_tree_node *node;
	bool is_end;
};

struct ptrc_pair_tree {
	bool is_holding;
	void (*put)(void *arg, const struct ptrc_tree_line *);
	void *arg;
	struct ptrc_table threads;
	struct waiting *first;
	struct waiting *last;
	size_t waiting_count;
};

static void release(struct ptrc_tree_node *n)
{
	while (n && !--n->users) {
		struct ptrc_tree_node *parent = n->parent;

		free(n->begin);
		free(n->end);
		free(n);
		n = parent;
	}
}

static void wait_for(struct ptrc_pair_tree *t, struct ptrc_tree_node *n, bool is_end)
{
	struct waiting *w = ptrc_cli_allocate(sizeof(*w));

	*w = (struct waiting){.node = n, .is_end = is_end};
	if (t->last)
		t->last->next = w;
	else
		t->first = w;
	t->last = w;
	t->waiting_count++;
	n->users++;
}

static void put(struct ptrc_pair_tree *t, const struct ptrc_tree_node *n,
		enum ptrc_tree_line_kind kind)
{
	struct ptrc_tree_line line = {
		.kind = kind,
		.pair = n->pair,
		.depth = n->depth,
		.has_duration = n->has_duration,
		.duration_ns = n->duration_ns,
		.begin = n->begin,
		.end = kind == PTRC_TREE_OPEN ? NULL : n->end,
	};

	t->put(t->arg, &line);
}

/* Shows a begin, if it is known how. */
static bool show_begin(struct ptrc_pair_tree *t, struct ptrc_tree_node *n)
{
	const struct ptrc_tree_node *outer = n->parent;

	if (!n->is_over) {
		if (t->is_holding || (!n->has_inner && t->waiting_count <= WAITING_MAX))
			return false;
		n->is_shown = true;
	}
	if (!n->is_shown)
		return true;
	while (outer && !outer->is_shown)
		outer = outer->parent;
	n->depth = outer ? outer->depth + 1 : 0;
	n->is_leaf = n->end && !n->has_inner;
	put(t, n, n->is_leaf ? PTRC_TREE_LEAF : PTRC_TREE_OPEN);
	return true;
}

/* Shows what waits, up to a begin of which it is not known how it is shown. */
static void flush(struct ptrc_pair_tree *t)
{
	struct waiting *w;

	while ((w = t->first)) {
		struct ptrc_tree_node *n = w->node;

		if (w->is_end && n->is_shown && !n->is_leaf)
			put(t, n, PTRC_TREE_CLOSE);
		else if (!w->is_end && !show_begin(t, n))
			return;
		t->first = w->next;
		if (!t->first)
			t->last = NULL;
		t->waiting_count--;
		free(w);
		release(n);
	}
}

/* Something that is shown lies within these. */
static void tell_outer(struct ptrc_tree_node *n)
{
	for (; n && !n->has_inner; n = n->parent)
		n->has_inner = true;
}

struct ptrc_pair_tree *
ptrc_pair_tree_make(bool is_holding, void (*put_line)(void *arg, const struct ptrc_tree_line *),
		    void *arg)
{
	struct ptrc_pair_tree *t = ptrc_cli_allocate(sizeof(*t));

	*t = (struct ptrc_pair_tree){.is_holding = is_holding, .put = put_line, .arg = arg};
	return t;
}

struct ptrc_tree_node *ptrc_pair_tree_begin(struct ptrc_pair_tree *t, size_t pair,
					    const struct ptrc_tree_thread *id, void *begin)
{
	struct thread *thread = ptrc_table_find(&t->threads, id, sizeof(*id), sizeof(*thread));
	struct ptrc_tree_node *n = ptrc_cli_allocate(sizeof(*n));

	*n = (struct ptrc_tree_node){
		.parent = thread->latest,
		.thread = thread,
		.users = 1,
		.pair = pair,
		.begin = begin,
		.is_open = true,
	};
	thread->latest = n;
	if (n->parent)
		n->parent->users++;
	if (!t->is_holding)
		tell_outer(n->parent);
	wait_for(t, n, false);
	flush(t);
	return n;
}

/* Takes a node out of those that others may lie within, and with it what lies within it: its end was
 * lost, or it goes on beside its thread. */
static void leave(struct ptrc_tree_node *n)
{
	struct ptrc_tree_node **latest = &n->thread->latest;

	while (n->is_open) {
		(*latest)->is_open = false;
		*latest = (*latest)->parent;
	}
}

void ptrc_pair_tree_end(struct ptrc_pair_tree *t, struct ptrc_tree_node *n, bool is_shown,
			const uint64_t *duration_ns, void *end)
{
	leave(n);
	n->is_over = true;
	n->is_shown = is_shown;
	n->end = end;
	n->has_duration = duration_ns;
	if (duration_ns)
		n->duration_ns = *duration_ns;
	if (is_shown && t->is_holding)
		tell_outer(n->parent);
	if (end)
		wait_for(t, n, true);
	release(n);
	flush(t);
}

void ptrc_pair_tree_drop(struct ptrc_tree_node *n)
{
	release(n);
}

void ptrc_pair_tree_free(struct ptrc_pair_tree *t)
{
	struct waiting *w;

	if (!t)
		return;
	while ((w = t->first)) {
		t->first = w->next;
		release(w->node);
		free(w);
	}
	ptrc_table_free(&t->threads);
	free(t);
}
