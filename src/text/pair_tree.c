/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/text/pair_tree.h"

#include <stdlib.h>

#include "src/base/message.h"

/* The greatest number of lines that wait until it is known whether a pair is a single line. */
enum { WAITING_MAX = 4096 };

/* A line that was not written yet: for the first event or, if is_end, the last event of a pair. */
struct waiting {
	struct waiting *next;
	struct ptrc_tree_node *node;
	bool is_end;
};

static struct ptrc_tree_node *outer_of(const struct ptrc_tree_node *n)
{
	return (struct ptrc_tree_node *)n->span.outer;
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
	n->span.users++;
}

/* Shows the line for the first event of a pair, if the pair is shown. Returns false if it is not known yet
 * whether the pair is shown, or whether it is a single line. */
static bool show_begin(struct ptrc_pair_tree *t, struct ptrc_tree_node *n)
{
	const struct ptrc_tree_node *outer = outer_of(n);

	if (!n->is_over) {
		if (t->is_holding || (!n->has_inner && t->waiting_count <= WAITING_MAX))
			return false;
		n->is_shown = true;
	}
	if (t->is_holding && n->open_count)
		return false;
	if (!n->is_shown)
		return true;
	while (outer && !outer->is_shown)
		outer = outer_of(outer);
	n->depth = outer ? outer->depth + 1 : 0;
	n->is_leaf = n->span.end_kept && !n->has_inner;
	t->put(t->arg, n, n->is_leaf ? PTRC_TREE_LEAF : PTRC_TREE_OPEN);
	return true;
}

/* Shows the waiting lines in order, up to the first one for which it is not known yet whether it is shown, or
 * in which form. */
static void flush(struct ptrc_pair_tree *t)
{
	struct waiting *w;

	while ((w = t->first)) {
		struct ptrc_tree_node *n = w->node;

		if (w->is_end && n->is_shown && !n->is_leaf)
			t->put(t->arg, n, PTRC_TREE_CLOSE);
		else if (!w->is_end && !show_begin(t, n))
			return;
		t->first = w->next;
		if (!t->first)
			t->last = NULL;
		t->waiting_count--;
		free(w);
		ptrc_span_release(&n->span);
	}
}

/* Notes that a pair that is shown lies within this pair, and so within all pairs around it. */
static void mark_outer(struct ptrc_tree_node *n)
{
	for (; n && !n->has_inner; n = outer_of(n))
		n->has_inner = true;
}

void ptrc_pair_tree_begin(struct ptrc_pair_tree *t, struct ptrc_spans *spans,
			  struct ptrc_tree_node *n)
{
	n->span.lane = ptrc_lanes_find(&spans->lanes, n->span.begin.source);
	ptrc_span_nest(spans, &n->span);
	if (outer_of(n))
		outer_of(n)->open_count++;
	if (!t->is_holding)
		mark_outer(outer_of(n));
	wait_for(t, n, false);
	flush(t);
}

void ptrc_pair_tree_end(struct ptrc_pair_tree *t, struct ptrc_tree_node *n, bool is_shown)
{
	ptrc_span_leave(&n->span);
	n->is_over = true;
	n->is_shown = is_shown;
	if (is_shown && t->is_holding)
		mark_outer(outer_of(n));
	for (struct ptrc_tree_node *m = n; m && m->is_over && !m->open_count; m = outer_of(m))
		if (outer_of(m))
			outer_of(m)->open_count--;
	if (n->span.end) {
		ptrc_span_keep_end(&n->span);
		wait_for(t, n, true);
	}
	flush(t);
}

void ptrc_pair_tree_free(struct ptrc_pair_tree *t)
{
	struct waiting *w;

	while ((w = t->first)) {
		t->first = w->next;
		ptrc_span_release(&w->node->span);
		free(w);
	}
}
