/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/kind.h"

#include "src/fields/when.h"

/* Events with the same key that wait for one answer. `at` is the first
 * of them; the others get the same result. */
struct waiters {
	struct ptrc_moment at;
	/* 0 if no event waits. */
	uint64_t count;
	/* The answer to these events may have been lost. */
	bool is_doubtful;
};

/* All events with one key that wait for an answer. */
struct ptrc_request {
	struct ptrc_table_entry entry;
	/* `fresh` has the events after the latest loss. `old` has the events before it whose answer may have been
	 * lost. */
	struct waiters old, fresh;
	/* The position in ptrc_trial.requests: first the requests with fresh events, the latest fresh.at first; then
	 * those without fresh events. */
	TAILQ_ENTRY(ptrc_request) others;
};

/* The latest answers with one key. They are kept for as long as the
 * rule's tolerance: an event that is read after its answer, but within the tolerance, counts as
 * answered. */
struct ptrc_answer {
	struct ptrc_table_entry entry;
	struct ptrc_recent recent;
	/* The position in ptrc_trial.remembered, which is sorted by listed_ns: the time of .recent.last when this entry
	 * was put there. */
	TAILQ_ENTRY(ptrc_answer) others;
	bool is_listed;
	int64_t listed_ns;
};

static void drop_request(struct ptrc_trial *t, struct ptrc_request *q)
{
	TAILQ_REMOVE(&t->requests, q, others);
	ptrc_table_remove(&t->table, q);
}

/* Counts events that were not answered in time. `answer` is the answer, which came too late; NULL
 * if there is none. */
static void break_after(struct ptrc_trial *t, const struct waiters *w, int64_t length_ns,
			const struct ptrc_moment *answer)
{
	*(w->is_doubtful ? &t->doubtful : &t->broken) += w->count;
	ptrc_cases_add(w->is_doubtful ? &t->doubts : &t->worst, (uint64_t)length_ns, &w->at, answer,
		       answer ? "answered after %s" : "not answered for %s",
		       ptrc_duration_text(length_ns, true));
}

static void list_answer(struct ptrc_trial *t, struct ptrc_answer *a, int64_t ns)
{
	a->listed_ns = ns;
	TAILQ_INSERT_TAIL(&t->remembered, a, others);
}

/* Drops the answers that are older than the tolerance. */
static void forget_answers(struct ptrc_trial *t, int64_t ns)
{
	struct ptrc_answer *a;

	while ((a = TAILQ_FIRST(&t->remembered)) &&
	       ptrc_when_subtract(ns, a->listed_ns) > t->tolerance_ns) {
		TAILQ_REMOVE(&t->remembered, a, others);
		if (ptrc_when_subtract(ns, a->recent.last.ns) > t->tolerance_ns)
			ptrc_table_remove(&t->answers, a);
		else
			list_answer(t, a, a->recent.last.ns);
	}
}

static void remember_answer(struct ptrc_now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct ptrc_answer *a = ptrc_judge_key_find(&t->answers, k, sizeof(*a));

	ptrc_recent_add(&a->recent, &n->at);
	if (!a->is_listed)
		list_answer(t, a, n->at.ns);
	a->is_listed = true;
}

/* Whether the event came after the latest loss by no more than the tolerance. A lost event may then count as
 * later than this event. */
static bool is_near_loss(const struct ptrc_now *n)
{
	const struct ptrc_ending *e = n->trial->ending;

	return e->gap_count && n->trial->tolerance_ns &&
	       ptrc_when_subtract(n->at.ns, e->last_gap_ns) <= n->trial->tolerance_ns;
}

static void take_request(struct ptrc_now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	const struct ptrc_answer *a = ptrc_judge_key_seek(&t->answers, k);
	struct ptrc_request *q;
	size_t count = t->table.count;

	t->matched++;
	/* A remembered answer A within the tolerance answers this event E, unless E itself has just answered a request
	 * R. In that case A is too early: A came before R, or A would have answered R; and R came before E. */
	if (a && ptrc_trial_is_any_near(t, &a->recent, &n->at) &&
	    t->used_event != n->judge->event_count) {
		t->kept++;
		return;
	}
	q = ptrc_judge_key_find(&t->table, k, sizeof(*q));
	/* If an event waits already, the answer to it will answer this event, too, and after a shorter time. */
	if (q->fresh.count++)
		return;
	q->fresh.at = n->at;
	q->fresh.is_doubtful = ptrc_judge_is_other_at_loss(n->judge, n->at.source) ||
			       ptrc_judge_is_other_paused(n->judge, n->at.source) ||
			       is_near_loss(n) || t->ending->early_end_ns != INT64_MAX;
	if (t->table.count == count)
		TAILQ_REMOVE(&t->requests, q, others);
	TAILQ_INSERT_HEAD(&t->requests, q, others);
}

/* Counts waiting events as kept, broken, doubtful or open, when their answer comes or, if `at` is NULL, at the end
 * of the log. `ns` is the time of the answer or of the end. */
static void answer(struct ptrc_trial *t, const struct waiters *w, int64_t ns,
		   const struct ptrc_moment *at)
{
	int64_t length_ns = ptrc_when_subtract(ns, w->at.ns);
	bool is_broken = !w->is_doubtful && t->is_final;

	if (!w->count)
		return;
	if (at)
		ptrc_trial_compare_clocks(t, &w->at, at, w->count);
	if (!ptrc_rule_is_in_time(t->rule, length_ns)) {
		break_after(t, w, length_ns, at);
	} else if (at) {
		t->backwards += length_ns < 0;
		t->kept += w->count;
	} else {
		*(is_broken ? &t->broken : w->is_doubtful ? &t->doubtful : &t->open) += w->count;
		ptrc_cases_add(is_broken ? &t->worst : &t->doubts, (uint64_t)length_ns, &w->at,
			       NULL,
			       w->is_doubtful ? "not answered by what is there"
					      : "not answered by the end of the log");
	}
}

static void take_answer(struct ptrc_now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct ptrc_request *q = ptrc_judge_key_seek(&t->table, k);

	if (q) {
		answer(t, &q->old, n->at.ns, &n->at);
		answer(t, &q->fresh, n->at.ns, &n->at);
		t->used_event = n->judge->event_count;
		drop_request(t, q);
	}
	remember_answer(n, k);
}

/* Notes that events were lost at this time. Counts q->fresh as broken if its answer was late already. Otherwise a lost
 * event may have answered it, so q->fresh joins q->old. */
static void doubt(struct ptrc_trial *t, struct ptrc_request *q, int64_t ns)
{
	int64_t length_ns = ptrc_when_subtract(ns, q->fresh.at.ns);

	if (!q->fresh.is_doubtful && !ptrc_rule_is_in_time(t->rule, length_ns)) {
		break_after(t, &q->fresh, length_ns, NULL);
	} else {
		if (!q->old.count)
			q->old.at = q->fresh.at;
		q->old.count += q->fresh.count;
		q->old.is_doubtful = true;
	}
	q->fresh = (struct waiters){0};
}

static void doubt_requests(struct ptrc_trial *t, int64_t ns, unsigned int source)
{
	(void)source;
	for (struct ptrc_request *q = TAILQ_FIRST(&t->requests); q && q->fresh.count;
	     q = TAILQ_NEXT(q, others))
		doubt(t, q, ns);
}

static void end_after(struct ptrc_trial *t)
{
	struct ptrc_request *q;

	while ((q = TAILQ_FIRST(&t->requests))) {
		answer(t, &q->old, t->ending->ns, NULL);
		answer(t, &q->fresh, t->ending->ns, NULL);
		drop_request(t, q);
	}
	ptrc_table_free(&t->answers);
}

const struct ptrc_kind ptrc_kind_after = {
	.forget = forget_answers,
	.take_first = take_request,
	.take_second = take_answer,
	.doubt = doubt_requests,
	.end = end_after,
	.has_ends = true,
};
