/* SPDX-License-Identifier: MIT */
/* The kinds before and order: both keep events that came too early for as long as the tolerance. */
#include "config.h"
#include "src/check/kind.h"

#include <stdlib.h>
#include <string.h>

/* For rules of the kind before: the latest event with one key that matches `require`. */
struct allowed {
	struct ptrc_table_entry entry;
	struct ptrc_moment at;
};

/* For rules of the kind before: an event without the event that it requires. For rules of the kind order: an event
 * of the list that came before an event that precedes it in the list. Either event waits for as long as the rule's
 * tolerance: a missing event that another thread records within that time counts as earlier. */
struct ptrc_waiting {
	TAILQ_ENTRY(ptrc_waiting) others;
	struct ptrc_moment at;
	bool is_doubtful;
	/* For the kind order: the state of this event's key, and the index of this event in the rule's list. For the
	 * kind before, `steps` is NULL. */
	struct steps *steps;
	unsigned int step;
	/* For the kind order: the set of earlier events of the list that have not come. */
	unsigned int missing;
	/* For the kind before: the latest event that would be the one required, if it were not too early; and the
	 * event's key. */
	bool has_earlier;
	struct ptrc_moment earlier;
	size_t key_size;
	unsigned char key[];
};

/* For rules of the kind order: the events of the list with one key. Bit i of a set stands for event i of the
 * rule. */
struct steps {
	struct ptrc_table_entry entry;
	unsigned int seen;
	/* Bit i is set if an event i came before the first event k, for some k below i. In `broken` this is certain. In
	 * `doubtful` an event k may have been lost before it. In `open` a log was not closed: it may lack an event k at
	 * its end that counts as earlier. */
	unsigned int broken, doubtful, open;
	/* Events may be missing before one of the events in `first`, and not only those of a time without recording. */
	bool is_after_loss;
	struct first {
		/* The first event i of the rule or, once an event i breaks the rule, that event. */
		struct ptrc_moment at;
		/* The greatest k below i whose first event came after an event i; valid if bit i of `broken`,
		 * `doubtful` or `open` is set. */
		unsigned int lacks;
	} first[];
};

static void drop_waiting(struct ptrc_trial *t, struct ptrc_waiting *w)
{
	TAILQ_REMOVE(&t->waiting, w, others);
	free(w);
}

/* Whether an event before the current one may be missing, and would be in the rule's time limit. */
static bool may_lack_earlier(const struct ptrc_now *n)
{
	const struct ptrc_ending *e = n->trial->ending;
	int64_t within_ns = n->trial->rule->within_ns;

	return e->early_end_ns != INT64_MAX ||
	       (e->gap_count &&
		(within_ns < 0 || ptrc_judge_is_other_at_loss(n->judge, n->at.source) ||
		 ptrc_judge_is_other_paused(n->judge, n->at.source) ||
		 ptrc_when_subtract(n->at.ns, e->last_gap_ns) <= within_ns));
}

static struct ptrc_waiting *add_waiting(struct ptrc_now *n, size_t key_size)
{
	struct ptrc_waiting *w = ptrc_cli_allocate(sizeof(*w) + key_size);

	*w = (struct ptrc_waiting){.at = n->at, .is_doubtful = may_lack_earlier(n)};
	TAILQ_INSERT_TAIL(&n->trial->waiting, w, others);
	return w;
}

/* Whether an event that precedes event i in the rule's list came too early itself. */
static bool has_wrong_before(const struct steps *s, unsigned int i)
{
	return (s->broken | s->doubtful | s->open) & ((1U << i) - 1);
}

/* Notes in `set`, which is .broken, .doubtful or .open of w->steps, that the waiting event came before an event that
 * precedes it in the rule's list. Does nothing if the event directly before it in the list has come, and
 * has_wrong_before(): it is enough to note the earlier mistake. */
static void break_order(const struct ptrc_waiting *w, unsigned int *set)
{
	unsigned int bit = 1U << w->step;
	struct steps *s = w->steps;

	if (!(w->missing & bit >> 1) && has_wrong_before(s, w->step))
		return;
	if (!((s->broken | (set == &s->broken ? 0 : s->doubtful | s->open)) & bit)) {
		s->first[w->step].lacks = 31 - (unsigned int)__builtin_clz(w->missing);
		if (set == &s->broken)
			s->first[w->step].at = w->at;
	}
	*set |= bit;
}

static void add_unmet(struct ptrc_cases *cases, uint64_t weight, const struct ptrc_waiting *w)
{
	if (w->has_earlier)
		ptrc_cases_add(
			cases, weight, &w->at, &w->earlier, "the last one before it was %s earlier",
			ptrc_duration_text(ptrc_when_subtract(w->at.ns, w->earlier.ns), true));
	else
		ptrc_cases_add(cases, weight, &w->at, NULL, "none before it");
}

/* Counts as broken or doubtful the events that have waited for longer than the tolerance for the event that
 * they require. */
static void end_waiting(struct ptrc_trial *t, int64_t ns)
{
	struct ptrc_waiting *w;

	while ((w = TAILQ_FIRST(&t->waiting)) &&
	       ptrc_when_subtract(ns, w->at.ns) > t->tolerance_ns) {
		if (w->steps) {
			break_order(w, w->is_doubtful ? &w->steps->doubtful : &w->steps->broken);
		} else {
			uint64_t number = w->is_doubtful ? ++t->doubtful : ++t->broken;

			add_unmet(w->is_doubtful ? &t->doubts : &t->worst, UINT64_MAX - number, w);
		}
		drop_waiting(t, w);
	}
}

/* Notes that events were lost at this time: a lost event may be the one that a waiting event requires. */
static void doubt_waiting(struct ptrc_trial *t, int64_t ns, unsigned int source)
{
	struct ptrc_waiting *w;

	(void)source;
	end_waiting(t, ns);
	TAILQ_FOREACH(w, &t->waiting, others)
	w->is_doubtful = true;
}

/* Ends the waiting at the end of the trace. If the log was not closed, a required event may have come after the
 * last event that was written, but within the tolerance. So the latest waiting events count as open. */
static void end_waitings(struct ptrc_trial *t)
{
	struct ptrc_waiting *w;

	if (t->ending->is_unclosed)
		end_waiting(t, t->ending->ns);
	while (t->ending->is_unclosed && (w = TAILQ_FIRST(&t->waiting))) {
		if (w->steps) {
			break_order(w, &w->steps->open);
		} else {
			t->open++;
			add_unmet(&t->doubts, 1, w);
		}
		drop_waiting(t, w);
	}
	end_waiting(t, INT64_MAX);
}

/* ---- before ---- */

static void take_dependent(struct ptrc_now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	const struct allowed *a = ptrc_judge_key_seek(&t->table, k);
	struct ptrc_waiting *w;

	t->matched++;
	if (a)
		ptrc_trial_compare_clocks(t, &a->at, &n->at, 1);
	if (a && ptrc_rule_is_in_time(t->rule, ptrc_when_subtract(n->at.ns, a->at.ns))) {
		t->kept++;
		t->used_event = n->judge->event_count;
		return;
	}
	w = add_waiting(n, k->key.size);
	w->has_earlier = a;
	if (a)
		w->earlier = a->at;
	w->key_size = k->key.size;
	memcpy(w->key, k->key.bytes, k->key.size);
}

static void take_allowing(struct ptrc_now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct allowed *a = ptrc_judge_key_find(&t->table, k, sizeof(*a));

	a->at = n->at;
	/* Suppose that this event E, which matches both patterns of the rule, has just found the event R that it
	 * requires. Then R is earlier than E. The waiting events with the same key have not found R, so they are
	 * earlier than R. So E comes after all of them, and cannot be the event that they require. */
	if (t->used_event == n->judge->event_count)
		return;
	for (struct ptrc_waiting *w = TAILQ_FIRST(&t->waiting), *next; w; w = next) {
		next = TAILQ_NEXT(w, others);
		if (w->key_size != k->key.size || memcmp(w->key, k->key.bytes, k->key.size) ||
		    !ptrc_trial_is_near(t, &w->at, &n->at))
			continue;
		t->kept++;
		drop_waiting(t, w);
	}
}

/* ---- order ---- */

/* The current event may have come before the waiting events with this key that are within the tolerance of it. So these
 * wait no longer for an event of the current event's place in the list. */
static void allow_later(struct ptrc_now *n, const struct steps *s)
{
	struct ptrc_trial *t = n->trial;

	for (struct ptrc_waiting *w = TAILQ_FIRST(&t->waiting), *next; w; w = next) {
		next = TAILQ_NEXT(w, others);
		if (w->steps != s || !ptrc_trial_is_near(t, &w->at, &n->at))
			continue;
		w->missing &= ~(1U << n->event);
		if (!w->missing)
			drop_waiting(t, w);
	}
}

static bool is_complete(const struct ptrc_trial *t, const struct steps *s)
{
	return s->seen == (1U << t->rule->event_count) - 1;
}

/* Takes an event of the list. A list is in order if the first event i comes after the first event i - 1. This is the
 * case if each event i has some event k before it, for each k below i, which is what is checked here. It is not enough
 * that each has an event i - 1 before it. Example: for the list a, b, c, a thread records c, then a, and another thread
 * b, all within the tolerance. Then b may count as later than a, and c as later than b, but c is earlier than a. */
static void take_order(struct ptrc_now *n)
{
	struct ptrc_trial *t = n->trial;
	unsigned int bit = 1U << n->event;
	unsigned int missing;
	struct steps *s;
	const struct ptrc_judge_key *k;
	bool is_counted = t->matched_event == n->judge->event_count;
	bool is_used = is_counted && t->used_event == n->judge->event_count;

	t->matched_event = n->judge->event_count;
	end_waiting(t, n->at.ns);
	/* All events of the list have happened, so no later event can lack the one that precedes it in the list. */
	if (t->is_settled && TAILQ_EMPTY(&t->waiting)) {
		t->matched += !is_counted;
		return;
	}
	k = ptrc_now_key(n);
	if (!k)
		return;
	t->matched += !is_counted;
	s = ptrc_judge_key_find(&t->table, k,
				sizeof(*s) + t->rule->event_count * sizeof(s->first[0]));
	missing = (bit - 1) & ~s->seen;
	if (!(s->seen & bit)) {
		/* This event is already the first event of an earlier place in the list, and cannot precede
		 * itself. */
		if (is_used)
			return;
		t->used_event = n->judge->event_count;
		s->seen |= bit;
		s->is_after_loss |=
			ptrc_ending_has_loss(t->ending) || t->ending->early_end_ns != INT64_MAX;
		s->first[n->event].at = n->at;
		t->is_settled = !t->rule->by_text && is_complete(t, s);
	}
	allow_later(n, s);
	if (missing && !(s->broken & bit) &&
	    (missing & bit >> 1 || !has_wrong_before(s, n->event))) {
		struct ptrc_waiting *w = add_waiting(n, 0);

		w->steps = s;
		w->step = n->event;
		w->missing = missing;
	}
}

static void end_order(struct ptrc_trial *t, void *thing)
{
	const struct steps *s = thing;
	unsigned int wrong = s->broken ? s->broken : s->doubtful | s->open;

	for (size_t i = 1; i < t->rule->event_count; i++) {
		const struct first *f = &s->first[i];
		bool has_before = s->seen & 1U << f->lacks;

		if (wrong & 1U << i)
			ptrc_cases_add(s->broken ? &t->worst : &t->doubts,
				       UINT64_MAX - (uint64_t)f->at.ns, &f->at,
				       has_before ? &s->first[f->lacks].at : NULL,
				       has_before ? "came before the first %s"
						  : "came without any %s before it",
				       t->rule->events[f->lacks].pattern);
	}
	t->is_whole |= !wrong && !s->is_after_loss && is_complete(t, s);
	if (s->broken) {
		t->broken++;
	} else if (s->doubtful) {
		t->doubtful++;
	} else if (s->open) {
		t->open++;
	} else if (is_complete(t, s)) {
		t->kept++;
	} else {
		size_t missing = (size_t)__builtin_ctz(~s->seen);
		bool may_be_lost = t->ending->gap_count && t->rule->at_loss != PTRC_RULE_IGNORE;
		bool is_missing = t->is_final && !may_be_lost;

		t->missing += is_missing || may_be_lost;
		*(may_be_lost ? &t->doubtful : is_missing ? &t->broken : &t->open) += 1;
		/* The first event of the list is not the missing one: without it, a later event
		 * would have come out of order. */
		ptrc_cases_add(is_missing ? &t->worst : &t->doubts, 1,
			       &s->first[missing ? missing - 1 : 0].at, NULL,
			       "no %s by the end of the log", t->rule->events[missing].pattern);
	}
}

const struct ptrc_kind ptrc_kind_before = {
	.forget = end_waiting,
	.take_first = take_dependent,
	.take_second = take_allowing,
	.doubt = doubt_waiting,
	.end = end_waitings,
	.is_forward = true,
};

const struct ptrc_kind ptrc_kind_order = {
	.take = take_order,
	.doubt = doubt_waiting,
	.end = end_waitings,
	.end_each = end_order,
	.is_forward = true,
};
