/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/glob.h"
#include "src/base/buffer.h"
#include "src/query/losses.h"
#include "src/fields/when.h"

/* For rules of the kind after: events with the same key that wait for one answer. `at` is the first
 * of them; the others get the same result. */
struct waiters {
	struct ptrc_moment at;
	/* 0 if no event waits. */
	uint64_t count;
	/* The answer to these events may have been lost. */
	bool is_doubtful;
};

/* For rules of the kind after: all events with one key that wait for an answer. */
struct ptrc_request {
	struct ptrc_table_entry entry;
	/* `fresh` has the events after the latest loss. `old` has the events before it whose answer may have been
	 * lost. */
	struct waiters old, fresh;
	/* The position in ptrc_trial.requests: first the requests with fresh events, the latest fresh.at first; then
	 * those without fresh events. */
	TAILQ_ENTRY(ptrc_request) others;
};

/* For rules of the kind after: the latest answers with one key. They are kept for as long as the
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

struct counted {
	struct ptrc_table_entry entry;
	uint64_t count;
	/* The last event with this key; once the maximum is exceeded, the event that exceeded it. */
	struct ptrc_moment at;
};

/* For rules of the kind pair: an open pair. .before links it to the earlier open pairs with the same key. */
struct ptrc_begin {
	struct ptrc_begin *before;
	/* The position in ptrc_trial.fresh_begins, if is_fresh: no loss has cut the pair off. */
	TAILQ_ENTRY(ptrc_begin) others;
	bool is_fresh;
	struct ptrc_moment at;
	/* The begin event fulfils the rule's conditions, so the rule is about this pair. */
	bool is_selected;
	/* The pair was counted as open when a log without an end stopped before the other logs, or when events were
	 * lost. */
	bool is_counted;
	/* The number of the event that opened the pair. */
	uint64_t event;
	/* Points to the counter of the losses that may hide the end of the pair. */
	const uint64_t *gaps;
	/* The value of *gaps when the pair was opened. */
	uint64_t gap_count;
};

struct begins {
	struct ptrc_table_entry entry;
	struct ptrc_begin *latest;
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
	/* Events may be missing before one of the events in `first`. */
	bool is_after_loss;
	struct first {
		/* The first event i of the rule or, once an event i breaks the rule, that event. */
		struct ptrc_moment at;
		/* The greatest k below i whose first event came after an event i; valid if bit i of `broken`,
		 * `doubtful` or `open` is set. */
		unsigned int lacks;
	} first[];
};

/* The current event, taken as one of the events of a rule that it matches. */
struct now {
	struct ptrc_judge *judge;
	struct ptrc_trial *trial;
	struct ptrc_view *view;
	struct ptrc_moment at;
	/* Which event of the rule the current event matches, as an index. */
	unsigned int event;
	/* The current event fulfils the conditions of the rule's event. Only rules of the kind pair also take
	 * events that do not. */
	bool is_selected;
};

/* Whether an event before the current one may be missing. */
static bool is_in_doubt(const struct ptrc_ending *e)
{
	return e->gap_count || e->early_end_ns != INT64_MAX;
}

static void free_case(struct ptrc_case *c)
{
	free(c->text);
	free(c->line);
	free(c->other_line);
	free(c->name);
}

static bool is_earlier(const struct ptrc_moment *a, const struct ptrc_moment *b)
{
	return a->ns != b->ns		? a->ns < b->ns
	       : a->source != b->source ? a->source < b->source
					: a->tid < b->tid;
}

/* Keeps a case if it is among the worst ones. If cases are equally bad, those with the earliest event stay,
 * so that the result does not depend on the order of a hash table. */
static void __attribute__((format(printf, 5, 6)))
add_case(struct ptrc_cases *cases, uint64_t weight, const struct ptrc_moment *at,
	 const struct ptrc_moment *other, const char *format, ...)
{
	struct ptrc_case c = {.weight = weight, .at = *at, .has_other = other};
	size_t place = cases->count;
	va_list values;

	while (place && (cases->list[place - 1].weight < weight ||
			 (cases->list[place - 1].weight == weight &&
			  is_earlier(at, &cases->list[place - 1].at))))
		place--;
	if (place == PTRC_CASES)
		return;
	if (other)
		c.other = *other;
	va_start(values, format);
	if (vasprintf(&c.text, format, values) < 0)
		ptrc_cli_no_memory();
	va_end(values);
	if (cases->count == PTRC_CASES)
		free_case(&cases->list[--cases->count]);
	memmove(&cases->list[place + 1], &cases->list[place],
		(cases->count - place) * sizeof(cases->list[0]));
	cases->list[place] = c;
	cases->count++;
}

static bool is_same_thread(const struct ptrc_moment *a, const struct ptrc_moment *b)
{
	return a->source == b->source && a->pid == b->pid && a->tid == b->tid;
}

/* Whether the order of two events is unknown: they are of different threads, and no further apart than the
 * tolerance. */
static bool is_near(const struct ptrc_trial *t, const struct ptrc_moment *a,
		    const struct ptrc_moment *b)
{
	int64_t distance = ptrc_when_subtract(a->ns, b->ns);

	return distance <= t->tolerance_ns && distance >= -t->tolerance_ns && !is_same_thread(a, b);
}

static void remember(struct ptrc_recent *r, const struct ptrc_moment *at)
{
	if (r->has_last && !is_same_thread(&r->last, at)) {
		r->has_other = true;
		r->other = r->last;
	}
	r->has_last = true;
	r->last = *at;
}

/* Whether the order of this event and of one of the remembered events is unknown. */
static bool is_any_near(const struct ptrc_trial *t, const struct ptrc_recent *r,
			const struct ptrc_moment *at)
{
	return (r->has_last && is_near(t, &r->last, at)) ||
	       (r->has_other && is_near(t, &r->other, at));
}

/* Returns the event's key for the rule. The key is valid until the next event. Returns NULL if the event does not have
 * the field; then counts the event in .without_key if it fulfils the rule's conditions. */
static const struct ptrc_judge_key *key_of(struct now *n)
{
	const struct ptrc_rule *r = n->trial->rule;
	struct ptrc_judge_key *k = &n->judge->keys[n->trial->key];

	if (n->trial->key && k->event != n->judge->event_count) {
		k->event = n->judge->event_count;
		ptrc_key_free(&k->key);
		k->has_key = ptrc_key_make(&k->key, 0, n->at.source, n->view,
					   k->by_text ? &r->by : NULL);
		k->hash = ptrc_table_hash(k->key.bytes, k->key.size);
	}
	n->trial->without_key += n->is_selected && !k->has_key;
	return k->has_key ? k : NULL;
}

/* Returns the entry of the key. If there is no such entry, find_at() makes it, but seek_at() returns NULL. */
static void *find_at(struct ptrc_table *t, const struct ptrc_judge_key *k, size_t size)
{
	return ptrc_table_find_hashed(t, k->hash, k->key.bytes, k->key.size, size);
}

static void *seek_at(const struct ptrc_table *t, const struct ptrc_judge_key *k)
{
	return ptrc_table_seek_hashed(t, k->hash, k->key.bytes, k->key.size);
}

/* Counts durations between two events of different hosts as unclear if the clock error may change the result: the
 * error is larger than both the rule's limit and the difference between the duration and that limit. */
static void compare_clocks(struct ptrc_trial *t, const struct ptrc_moment *from,
			   const struct ptrc_moment *to, uint64_t count)
{
	const struct ptrc_hosts *h = t->hosts;
	int64_t length_ns = ptrc_when_subtract(to->ns, from->ns);
	int64_t error_ns;

	if (!h || t->limit_ns < 0 || h->host_of[from->source] == h->host_of[to->source])
		return;
	error_ns = ptrc_when_add(ptrc_hosts_bound(h, from->source, from->ns),
				 ptrc_hosts_bound(h, to->source, to->ns));
	if (error_ns <= t->limit_ns || ptrc_when_distance(length_ns, t->limit_ns) >= error_ns)
		return;
	t->unclear += count;
	if (error_ns > t->clock_error_ns)
		t->clock_error_ns = error_ns;
}

/* ---- never, exists, count ---- */

static void take_never(struct now *n)
{
	struct ptrc_trial *t = n->trial;

	t->matched++;
	t->broken++;
	add_case(&t->worst, UINT64_MAX - t->broken, &n->at, NULL, "happened");
}

/* Takes an event that came after t->base, the moment from which `within` counts. */
static void take_existing(struct now *n)
{
	struct ptrc_trial *t = n->trial;
	int64_t late_ns = ptrc_when_subtract(n->at.ns, t->base.ns);

	if (t->is_found)
		return;
	if (t->rule->event_count == 2 && !t->worst.count)
		compare_clocks(t, &t->base, &n->at, 1);
	if (late_ns <= t->rule->within_ns)
		t->is_found = true;
	else if (!t->worst.count)
		add_case(&t->worst, 1, &n->at, NULL, "came after %s",
			 ptrc_duration_text(late_ns, true));
}

static void take_exists(struct now *n)
{
	struct ptrc_trial *t = n->trial;

	if (n->event == 1) {
		if (t->has_base)
			return;
		t->has_base = true;
		t->base = n->at;
		t->used_event = n->judge->event_count;
		t->is_base_doubtful = ptrc_ending_has_loss(t->ending);
		if (is_any_near(t, &t->early, &n->at))
			t->is_found = true;
		else if (t->early.has_last && t->rule->within_ns >= 0)
			compare_clocks(t, &n->at, &t->early.last, 1);
		return;
	}
	t->matched++;
	if (t->used_event == n->judge->event_count)
		return;
	if (!t->has_base && t->rule->event_count == 1) {
		t->has_base = true;
		t->base.ns = t->ending->start_ns;
	}
	if (t->rule->within_ns < 0)
		t->is_found = true;
	else if (t->has_base)
		take_existing(n);
	else
		remember(&t->early, &n->at);
}

static void take_counted(struct now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct counted *c = find_at(&t->table, k, sizeof(*c));

	t->matched++;
	c->count++;
	if (c->count <= t->rule->max || c->count == t->rule->max + 1)
		c->at = n->at;
}

/* ---- after ---- */

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
	add_case(w->is_doubtful ? &t->doubts : &t->worst, (uint64_t)length_ns, &w->at, answer,
		 answer ? "answered after %s" : "not answered for %s",
		 ptrc_duration_text(length_ns, true));
}

static bool is_in_time(const struct ptrc_rule *r, int64_t length_ns)
{
	return r->within_ns < 0 || length_ns <= r->within_ns;
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

static void remember_answer(struct now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct ptrc_answer *a = find_at(&t->answers, k, sizeof(*a));

	remember(&a->recent, &n->at);
	if (!a->is_listed)
		list_answer(t, a, n->at.ns);
	a->is_listed = true;
}

/* Whether another source is within a loss now, because its last event reported one. */
static bool is_other_at_loss(const struct ptrc_judge *j, unsigned int source)
{
	return j->at_loss_count > (size_t)j->sources[source].is_at_loss;
}

/* Whether another source is stopped now, but will be started again. */
static bool is_other_paused(const struct ptrc_judge *j, unsigned int source)
{
	return j->paused_count > (size_t)j->sources[source].is_paused;
}

/* Whether the event came after the latest loss by no more than the tolerance. A lost event may then count as
 * later than this event. */
static bool is_near_loss(const struct now *n)
{
	const struct ptrc_ending *e = n->trial->ending;

	return e->gap_count && n->trial->tolerance_ns &&
	       ptrc_when_subtract(n->at.ns, e->last_gap_ns) <= n->trial->tolerance_ns;
}

static void take_request(struct now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	const struct ptrc_answer *a = seek_at(&t->answers, k);
	struct ptrc_request *q;
	size_t count = t->table.count;

	t->matched++;
	/* A remembered answer A within the tolerance answers this event E, unless E itself has just answered a request
	 * R. In that case A is too early: A came before R, or A would have answered R; and R came before E. */
	if (a && is_any_near(t, &a->recent, &n->at) && t->used_event != n->judge->event_count) {
		t->kept++;
		return;
	}
	q = find_at(&t->table, k, sizeof(*q));
	/* If an event waits already, the answer to it will answer this event, too, and after a shorter time. */
	if (q->fresh.count++)
		return;
	q->fresh.at = n->at;
	q->fresh.is_doubtful = is_other_at_loss(n->judge, n->at.source) ||
			       is_other_paused(n->judge, n->at.source) || is_near_loss(n) ||
			       t->ending->early_end_ns != INT64_MAX;
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
		compare_clocks(t, &w->at, at, w->count);
	if (!is_in_time(t->rule, length_ns)) {
		break_after(t, w, length_ns, at);
	} else if (at) {
		t->backwards += length_ns < 0;
		t->kept += w->count;
	} else {
		*(is_broken ? &t->broken : w->is_doubtful ? &t->doubtful : &t->open) += w->count;
		add_case(is_broken ? &t->worst : &t->doubts, (uint64_t)length_ns, &w->at, NULL,
			 w->is_doubtful ? "not answered by what is there"
					: "not answered by the end of the log");
	}
}

static void take_answer(struct now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct ptrc_request *q = seek_at(&t->table, k);

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

	if (!q->fresh.is_doubtful && !is_in_time(t->rule, length_ns)) {
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

/* ---- before, order ---- */

static void drop_waiting(struct ptrc_trial *t, struct ptrc_waiting *w)
{
	TAILQ_REMOVE(&t->waiting, w, others);
	free(w);
}

/* Whether an event before the current one may be missing, and would be in the rule's time limit. */
static bool may_lack_earlier(const struct now *n)
{
	const struct ptrc_ending *e = n->trial->ending;
	int64_t within_ns = n->trial->rule->within_ns;

	return is_in_doubt(e) && (within_ns < 0 || e->lacks_start || e->early_end_ns != INT64_MAX ||
				  is_other_at_loss(n->judge, n->at.source) ||
				  is_other_paused(n->judge, n->at.source) ||
				  ptrc_when_subtract(n->at.ns, e->last_gap_ns) <= within_ns);
}

static struct ptrc_waiting *add_waiting(struct now *n, size_t key_size)
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
		add_case(cases, weight, &w->at, &w->earlier,
			 "the last one before it was %s earlier",
			 ptrc_duration_text(ptrc_when_subtract(w->at.ns, w->earlier.ns), true));
	else
		add_case(cases, weight, &w->at, NULL, "none before it");
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

static void take_dependent(struct now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	const struct allowed *a = seek_at(&t->table, k);
	struct ptrc_waiting *w;

	t->matched++;
	if (a)
		compare_clocks(t, &a->at, &n->at, 1);
	if (a && is_in_time(t->rule, ptrc_when_subtract(n->at.ns, a->at.ns))) {
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

static void take_allowing(struct now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct allowed *a = find_at(&t->table, k, sizeof(*a));

	a->at = n->at;
	/* Suppose that this event E, which matches both patterns of the rule, has just found the event R that it
	 * requires. Then R is earlier than E. The waiting events with the same key have not found R, so they are
	 * earlier than R. So E comes after all of them, and cannot be the event that they require. */
	if (t->used_event == n->judge->event_count)
		return;
	for (struct ptrc_waiting *w = TAILQ_FIRST(&t->waiting), *next; w; w = next) {
		next = TAILQ_NEXT(w, others);
		if (w->key_size != k->key.size || memcmp(w->key, k->key.bytes, k->key.size) ||
		    !is_near(t, &w->at, &n->at))
			continue;
		t->kept++;
		drop_waiting(t, w);
	}
}

/* ---- pair ---- */

/* Returns the counter of the losses that may hide events of the pair. If the rule has the key `by`, the events of a
 * pair may be in several logs, so all losses count. Otherwise both events are of one thread, so only the losses
 * of its log count. */
static const uint64_t *gaps_of(const struct now *n)
{
	return n->trial->rule->by_text ? &n->judge->ending.gap_count
				       : &n->judge->sources[n->at.source].gap_count;
}

/* Whether events of the rule's pairs may be missing because a log stopped before the others. Only the key `by` lets a
 * pair have events in several logs. */
static bool is_beyond_end(const struct ptrc_trial *t)
{
	return t->rule->by_text && t->rule->at_end != PTRC_RULE_IGNORE &&
	       t->ending->early_end_ns != INT64_MAX;
}

/* Whether the end of the pair may have been lost. */
static bool is_cut_off(const struct ptrc_trial *t, const struct ptrc_begin *b)
{
	return b->gap_count != *b->gaps || is_beyond_end(t);
}

/* Returns the number of pairs that are certainly open. Pairs that were opened before the latest loss are not
 * counted. */
static uint64_t count_open(const struct ptrc_judge *j, struct ptrc_trial *t)
{
	size_t count = t->rule->by_text ? 1 : j->source_count;
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		struct ptrc_open *open = &t->sources[i];
		uint64_t gaps = t->rule->by_text ? t->ending->gap_count : j->sources[i].gap_count;

		if (open->gap_count != gaps || is_beyond_end(t))
			*open = (struct ptrc_open){gaps, 0};
		sum += open->count;
	}
	return sum;
}

static struct ptrc_open *open_of(const struct now *n)
{
	return &n->trial->sources[n->trial->rule->by_text ? 0 : n->at.source];
}

/* Removes the crowds (struct ptrc_crowd: moments with more open pairs than ever before) that are older than the
 * tolerance: nothing changes them any more. Updates t->most, the maximum of such crowds. */
static void settle_crowds(struct ptrc_trial *t, int64_t ns)
{
	size_t settled = 0;

	for (; settled < t->crowd_count; settled++) {
		const struct ptrc_crowd *c = &t->crowds[settled];

		if (ptrc_when_subtract(ns, c->at.ns) <= t->tolerance_ns)
			break;
		if (c->count > t->most) {
			t->most = c->count;
			t->most_at = c->at;
		}
	}
	if (!settled)
		return;
	t->crowd_count -= settled;
	memmove(t->crowds, t->crowds + settled, t->crowd_count * sizeof(*t->crowds));
}

static void count_begin(struct now *n)
{
	struct ptrc_trial *t = n->trial;
	uint64_t count = count_open(n->judge, t) + 1;

	settle_crowds(t, n->at.ns);
	open_of(n)->count++;
	if (is_beyond_end(t) || count <= t->most)
		return;
	*ptrc_append(t->crowds, t->crowd_count) =
		(struct ptrc_crowd){n->at, n->judge->event_count, count};
}

/* Subtracts the pair from the number of open pairs, and from each crowd that another thread made within the
 * tolerance: the end of the pair may count as earlier than that crowd. */
static void count_end(struct now *n, const struct ptrc_begin *b)
{
	struct ptrc_trial *t = n->trial;
	const struct ptrc_begin *from = b;

	count_open(n->judge, t);
	settle_crowds(t, n->at.ns);
	if (is_cut_off(t, b))
		return;
	open_of(n)->count--;
	/* An end event that counts as earlier than the start of this pair ends an earlier pair with the same key. */
	while (from->before && is_near(t, &from->at, &n->at))
		from = from->before;
	for (size_t i = 0; i < t->crowd_count; i++)
		if (t->crowds[i].event > from->event && is_near(t, &t->crowds[i].at, &n->at))
			t->crowds[i].count--;
}

static void take_begin(struct now *n, const struct ptrc_judge_key *k)
{
	struct begins *open = find_at(&n->trial->table, k, sizeof(*open));
	struct ptrc_begin *b = ptrc_cli_allocate(sizeof(*b));
	const uint64_t *gaps = gaps_of(n);

	*b = (struct ptrc_begin){.before = open->latest,
				 .at = n->at,
				 .is_fresh = true,
				 .is_selected = n->is_selected,
				 .event = n->judge->event_count,
				 .gaps = gaps,
				 .gap_count = *gaps};
	open->latest = b;
	TAILQ_INSERT_TAIL(&n->trial->fresh_begins, b, others);
	if (!n->is_selected)
		return;
	n->trial->matched++;
	if (n->trial->sources)
		count_begin(n);
}

/* Counts the duration for each bound that it is below. Keeps the pair as a case if its duration violates a
 * bound. */
static void compare_with_bounds(struct ptrc_trial *t, const struct ptrc_begin *b,
				const struct ptrc_moment *end, uint64_t length_ns)
{
	bool is_too_long = false, is_too_short = false;

	for (size_t i = 0; i < t->rule->bound_count; i++) {
		const struct ptrc_rule_bound *bound = &t->rule->bounds[i];
		bool is_less = ptrc_rule_is_below(bound, (int64_t)length_ns);

		t->below[i] += is_less;
		is_too_long |= ptrc_rule_is_upper(bound) && !is_less;
		is_too_short |= !ptrc_rule_is_upper(bound) && is_less;
	}
	if (is_too_long)
		add_case(&t->worst, length_ns, &b->at, end, "took %s",
			 ptrc_duration_text((int64_t)length_ns, true));
	if (is_too_short)
		add_case(&t->shortest, UINT64_MAX - length_ns, &b->at, end, "took %s",
			 ptrc_duration_text((int64_t)length_ns, true));
}

static void measure(struct ptrc_trial *t, const struct ptrc_begin *b, const struct ptrc_moment *end)
{
	int64_t length_ns = ptrc_when_subtract(end->ns, b->at.ns);

	compare_clocks(t, &b->at, end, 1);
	if (length_ns < 0) {
		t->backwards++;
		return;
	}
	t->kept++;
	ptrc_quantiles_add(&t->lengths, (uint64_t)length_ns);
	compare_with_bounds(t, b, end, (uint64_t)length_ns);
}

static void take_end(struct now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct begins *open = seek_at(&t->table, k);
	struct ptrc_begin *b;

	if (!open) {
		bool is_doubtful = *gaps_of(n) || is_beyond_end(t);

		t->doubtful += n->is_selected && is_doubtful;
		t->unmatched_ends += n->is_selected && !is_doubtful;
		return;
	}
	b = open->latest;
	if (t->sources && b->is_selected)
		count_end(n, b);
	if (b->is_selected && n->is_selected && !b->is_counted) {
		if (is_cut_off(t, b))
			t->doubtful++;
		else
			measure(t, b, &n->at);
	}
	open->latest = b->before;
	if (b->is_fresh)
		TAILQ_REMOVE(&t->fresh_begins, b, others);
	free(b);
	if (!open->latest)
		ptrc_table_remove(&t->table, open);
}

/* Counts a pair that was open at this time, when the trace ended, a log without an end stopped, or events
 * were lost. */
static void count_unended(struct ptrc_trial *t, const struct ptrc_begin *b, int64_t ns)
{
	int64_t length_ns = ptrc_when_subtract(ns, b->at.ns);
	/* A pair without an end exceeds any upper bound if no event will follow. */
	uint64_t weight = t->is_final	  ? (uint64_t)INT64_MAX
			  : length_ns < 0 ? 0
					  : (uint64_t)length_ns;

	t->open++;
	for (size_t i = 0; i < t->rule->bound_count; i++)
		t->open_below[i] += ptrc_rule_is_below(&t->rule->bounds[i], (int64_t)weight);
	add_case(&t->doubts, weight, &b->at, NULL, "no end for %s",
		 ptrc_duration_text(length_ns < 0 ? 0 : length_ns, true));
}

/* Whether a pair that has lasted for this long breaks the rule, whenever it ends. */
static bool is_too_long(const struct ptrc_rule *r, int64_t length_ns)
{
	for (size_t i = 0; i < r->bound_count; i++)
		if (r->bounds[i].per_million == PTRC_QUANTILE_MAX &&
		    ptrc_rule_is_upper(&r->bounds[i]) &&
		    !ptrc_rule_is_below(&r->bounds[i], length_ns))
			return true;
	return false;
}

/* Notes that events were lost at this time: they may have ended pairs. A pair that was too long already breaks the
 * rule in any case. A lost end may count as earlier than the latest crowds, so these are dropped, except those of
 * pairs of other logs. */
static void doubt_pairs(struct ptrc_trial *t, int64_t ns, unsigned int source)
{
	size_t kept = 0;

	for (struct ptrc_begin *b = TAILQ_FIRST(&t->fresh_begins), *next; b; b = next) {
		next = TAILQ_NEXT(b, others);
		if (!t->rule->by_text && b->at.source != source)
			continue;
		TAILQ_REMOVE(&t->fresh_begins, b, others);
		b->is_fresh = false;
		if (b->is_selected && !b->is_counted && !is_cut_off(t, b) &&
		    is_too_long(t->rule, ptrc_when_subtract(ns, b->at.ns))) {
			count_unended(t, b, ns);
			b->is_counted = true;
		}
	}
	settle_crowds(t, ns);
	for (size_t i = 0; i < t->crowd_count; i++)
		if (!t->rule->by_text && t->crowds[i].at.source != source)
			t->crowds[kept++] = t->crowds[i];
	t->crowd_count = kept;
}

/* ---- order ---- */

/* The current event may have come before the waiting events with this key that are within the tolerance of it. So these
 * wait no longer for an event of the current event's place in the list. */
static void allow_later(struct now *n, const struct steps *s)
{
	struct ptrc_trial *t = n->trial;

	for (struct ptrc_waiting *w = TAILQ_FIRST(&t->waiting), *next; w; w = next) {
		next = TAILQ_NEXT(w, others);
		if (w->steps != s || !is_near(t, &w->at, &n->at))
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
static void take_order(struct now *n)
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
	k = key_of(n);
	if (!k)
		return;
	t->matched += !is_counted;
	s = find_at(&t->table, k, sizeof(*s) + t->rule->event_count * sizeof(s->first[0]));
	missing = (bit - 1) & ~s->seen;
	if (!(s->seen & bit)) {
		/* This event is already the first event of an earlier place in the list, and cannot precede
		 * itself. */
		if (is_used)
			return;
		t->used_event = n->judge->event_count;
		s->seen |= bit;
		s->is_after_loss |= is_in_doubt(t->ending);
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

/* ---- the end ---- */

static void end_count(struct ptrc_trial *t, void *thing)
{
	const struct counted *c = thing;
	const struct ptrc_rule *r = t->rule;

	if (c->count > r->max) {
		t->broken++;
		add_case(&t->worst, c->count, &c->at, NULL, "%" PRIu64 " event%s", c->count,
			 c->count == 1 ? "" : "s");
	} else if (c->count < r->min) {
		t->doubtful++;
		add_case(&t->doubts, UINT64_MAX - c->count, &c->at, NULL, "%" PRIu64 " event%s",
			 c->count, c->count == 1 ? "" : "s");
	} else {
		t->kept++;
	}
}

static void end_begins(struct ptrc_trial *t, void *thing)
{
	struct begins *open = thing;

	while (open->latest) {
		struct ptrc_begin *b = open->latest;

		if (b->is_selected && !b->is_counted) {
			if (is_cut_off(t, b))
				t->doubtful++;
			else
				count_unended(t, b, t->ending->ns);
		}
		open->latest = b->before;
		free(b);
	}
}

/* Counts the pairs whose end may be missing because a log without an end stopped at this time, before the other logs.
 * Only the time that they had lasted by then is known. */
static void end_begins_early(struct ptrc_trial *t, int64_t ns, unsigned int source)
{
	for (struct begins *open = NULL; (open = ptrc_table_next(&t->table, open));)
		for (struct ptrc_begin *b = open->latest; b; b = b->before) {
			bool is_of_log = t->rule->by_text || b->at.source == source;

			if (b->is_selected && is_of_log && !is_cut_off(t, b)) {
				count_unended(t, b, ns);
				b->is_counted = true;
			}
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
			add_case(s->broken ? &t->worst : &t->doubts,
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
		add_case(is_missing ? &t->worst : &t->doubts, 1,
			 &s->first[missing ? missing - 1 : 0].at, NULL,
			 "no %s by the end of the log", t->rule->events[missing].pattern);
	}
}

/* Finds the largest number of pairs that were open at a time. If a log was not closed, it may lack an end event that
 * counts as earlier than crowds within the tolerance before the end. So these crowds do not count. */
static void end_crowds(struct ptrc_trial *t)
{
	if (!t->sources)
		return;
	settle_crowds(t, t->ending->is_unclosed ? t->ending->ns : INT64_MAX);
	if (t->most > t->rule->at_most)
		add_case(&t->crowded, t->most, &t->most_at, NULL, "%" PRIu64 " at once", t->most);
}

/* ---- all kinds of rules ---- */

static const struct kind {
	/* Takes an event of the rule. NULL: forget(), take_first() and take_second() are called instead. */
	void (*take)(struct now *);
	/* Drops the remembered answers or waiting events that are older than the tolerance. */
	void (*forget)(struct ptrc_trial *, int64_t ns);
	/* Takes an event that matches the first event of the rule, with its key. */
	void (*take_first)(struct now *, const struct ptrc_judge_key *);
	/* Takes an event that matches the second event of the rule, with its key. */
	void (*take_second)(struct now *, const struct ptrc_judge_key *);
	/* Notes that events of the source were lost at this time, so that unanswered or waiting events and open pairs
	 * become doubtful. Called before the loss is counted in gap_count. */
	void (*doubt)(struct ptrc_trial *, int64_t ns, unsigned int source);
	/* Called once at the end of the trace. */
	void (*end)(struct ptrc_trial *);
	/* Called at the end of the trace, after end(), for each entry of the table. */
	void (*end_each)(struct ptrc_trial *, void *thing);
	/* Whether the second event of the rule ends or answers its first event. */
	bool has_ends;
	/* Whether an event that matches several events of the rule is tried as the first of them before the
	 * others. */
	bool is_forward;
} kinds[PTRC_RULE_KINDS] = {
	[PTRC_RULE_NEVER] = {.take = take_never},
	[PTRC_RULE_EXISTS] = {.take = take_exists},
	[PTRC_RULE_COUNT] = {.take_first = take_counted, .end_each = end_count},
	[PTRC_RULE_AFTER] = {.forget = forget_answers,
			     .take_first = take_request,
			     .take_second = take_answer,
			     .doubt = doubt_requests,
			     .end = end_after,
			     .has_ends = true},
	[PTRC_RULE_BEFORE] = {.forget = end_waiting,
			      .take_first = take_dependent,
			      .take_second = take_allowing,
			      .doubt = doubt_waiting,
			      .end = end_waitings,
			      .is_forward = true},
	[PTRC_RULE_PAIR] = {.take_first = take_begin,
			    .take_second = take_end,
			    .doubt = doubt_pairs,
			    .end_each = end_begins,
			    .end = end_crowds,
			    .has_ends = true},
	[PTRC_RULE_ORDER] = {.take = take_order,
			     .doubt = doubt_waiting,
			     .end = end_waitings,
			     .end_each = end_order,
			     .is_forward = true},
};

static const struct kind *kind_of(const struct ptrc_trial *t)
{
	return &kinds[t->rule->kind];
}

/* Whether it is unknown if the event belongs to the rule, or what its key is, because its data was cut or
 * does not fit its layout. */
static bool is_unsure(const struct ptrc_role *role, struct ptrc_view *view)
{
	const struct ptrc_rule *r = role->trial->rule;
	const struct ptrc_rule_event *e = &r->events[role->event];
	bool may_hold = true;
	bool is_any = false;

	for (size_t i = 0; i < 2 && may_hold; i++) {
		bool is_this = false;

		may_hold = !e->wheres[i] || ptrc_where_may_hold(e->wheres[i], view, &is_this);
		is_any |= is_this;
	}
	if (!may_hold && !role->is_by_type)
		return false;
	return (may_hold && is_any) || (r->by_text && ptrc_view_has_lost(view, &r->by));
}

/* Counts the event in .cut or .misfits, once for the rule, if is_unsure(). */
static void count_loss(struct ptrc_judge *j, const struct ptrc_role *role, struct ptrc_view *view)
{
	struct ptrc_trial *t = role->trial;

	if (t->maimed_event == j->event_count || !is_unsure(role, view))
		return;
	t->maimed_event = j->event_count;
	t->cut += ptrc_view_is_cut(view);
	t->misfits += !ptrc_view_is_cut(view);
}

static void take(struct now *n)
{
	const struct kind *kind = kind_of(n->trial);
	const struct ptrc_judge_key *k;

	if (kind->take) {
		kind->take(n);
		return;
	}
	if (kind->forget)
		kind->forget(n->trial, n->at.ns);
	k = key_of(n);
	if (k)
		(n->event ? kind->take_second : kind->take_first)(n, k);
}

static void take_role(struct now *n, const struct ptrc_role *role)
{
	n->trial = role->trial;
	n->event = role->event;
	n->is_selected =
		ptrc_where_all_hold(role->trial->rule->events[role->event].wheres, 2, n->view);
	if (n->is_selected || role->is_by_type)
		take(n);
	/* The view has noted whether fields that the expressions used were cut or did not fit the
	 * layout. */
	if (__builtin_expect(ptrc_view_is_maimed(n->view), 0))
		count_loss(n->judge, role, n->view);
}

/* Whether the event, in this role, ends a pair or answers an earlier event. */
static bool is_end(const struct ptrc_role *role)
{
	return role->event && kind_of(role->trial)->has_ends;
}

/* Counts a place of loss, after the rules have noted it. */
static void add_gap(struct ptrc_judge *j, int64_t ns, unsigned int source)
{
	for (size_t i = 0; i < j->rules->count; i++) {
		struct ptrc_trial *t = &j->trials[i];

		if (kind_of(t)->doubt)
			kind_of(t)->doubt(t, ns, source);
	}
	j->sources[source].gap_count++;
}

void ptrc_judge_take_gap(struct ptrc_judge *j, int64_t ns, unsigned int source)
{
	add_gap(j, ns, source);
	if (!ptrc_ending_has_loss(&j->ending))
		j->ending.first_gap_ns = ns;
	j->ending.last_gap_ns = ns;
	j->sources[source].has_loss = true;
	j->ending.lacks_start |= ns == INT64_MIN;
	j->ending.gap_count++;
}

/* Notes a time without recording: called at the START after a stop, at the STOP if it is known that a START will
 * follow, and before all events if files were deleted. An answer may have come in that time. An event whose answer
 * was late already at the STOP is not in doubt, so the losses are dated to the STOP. */
static void take_restart(struct ptrc_judge *j, int64_t ns, unsigned int source)
{
	add_gap(j, j->sources[source].stop_ns, source);
	j->ending.last_gap_ns = ns;
	j->ending.gap_count++;
	j->ending.stop_count++;
}

void ptrc_judge_take_deleted(struct ptrc_judge *j, unsigned int source)
{
	j->ending.has_deleted_files = j->ending.lacks_start = true;
	take_restart(j, INT64_MIN, source);
}

void ptrc_judge_take_early_end(struct ptrc_judge *j, int64_t ns, unsigned int source)
{
	for (size_t i = 0; i < j->rules->count; i++) {
		const struct ptrc_rule *r = j->trials[i].rule;

		if (r->kind == PTRC_RULE_PAIR && !(r->by_text && r->at_end == PTRC_RULE_IGNORE))
			end_begins_early(&j->trials[i], ns, source);
	}
	add_gap(j, ns, source);
	if (j->ending.early_end_ns == INT64_MAX)
		j->ending.early_end_ns = ns;
}

/* Takes an event at a place of loss: an event that reports a loss, the next event of the same source (START or
 * RESUME), or the STOP or START of a time without recording (is_restart). Events were lost between the first two;
 * both count as places of loss, because pairs that other sources open between them may have lost their ends. The loss
 * does not affect the pairs that this event ends and the events that this event answers. So the event is first taken
 * as an end and an answer, then the loss is noted, then the event is taken in its other roles. */
static void take_at_gap(struct now *n, const struct ptrc_roles *roles, bool is_restart)
{
	for (size_t i = 0; i < roles->count; i++)
		if (is_end(&roles->list[i]))
			take_role(n, &roles->list[i]);
	if (is_restart)
		take_restart(n->judge, n->at.ns, n->at.source);
	else
		ptrc_judge_take_gap(n->judge, n->at.ns, n->at.source);
	for (size_t i = 0; i < roles->count; i++)
		if (!is_end(&roles->list[i]))
			take_role(n, &roles->list[i]);
}

void ptrc_judge_take(struct ptrc_judge *j, const struct ptrc_roles *roles, struct ptrc_view *view,
		     unsigned int source)
{
	const struct posix_trace_event_info *e = &view->reader->event;
	struct now n = {
		.judge = j,
		.view = view,
		.at = {ptrc_when_ns(&e->posix_timestamp), e->posix_event_id, e->posix_pid,
		       e->posix_tid, source},
	};
	struct ptrc_judge_source *s = &j->sources[source];
	bool is_loss = ptrc_reader_is_loss(view->reader) || s->is_at_loss;
	bool is_restart = s->is_stopped && n.at.id == POSIX_TRACE_START;
	bool was_paused;

	j->event_count++;
	s->is_stopped = n.at.id == POSIX_TRACE_STOP || (s->is_stopped && !is_restart);
	if (n.at.id == POSIX_TRACE_STOP)
		s->stop_ns = n.at.ns;
	s->is_end_unseen |=
		s->is_stopped && ptrc_reader_type(view->reader, n.at.id)->is_command_end;
	s->starts_left -= n.at.id == POSIX_TRACE_START && s->starts_left;
	was_paused = s->is_paused;
	s->is_paused = s->is_stopped && s->starts_left;
	j->paused_count += (size_t)s->is_paused - (size_t)was_paused;
	if (__builtin_expect(is_loss || is_restart || s->is_paused != was_paused, 0)) {
		j->at_loss_count -= s->is_at_loss;
		s->is_at_loss = ptrc_reader_is_loss_open(view->reader);
		j->at_loss_count += s->is_at_loss;
		take_at_gap(&n, roles, !is_loss);
	} else {
		for (size_t i = 0; i < roles->count; i++)
			take_role(&n, &roles->list[i]);
	}
	if (is_other_at_loss(j, source)) {
		j->ending.gap_count++;
	} else if (is_other_paused(j, source)) {
		j->ending.gap_count++;
		j->ending.stop_count++;
	}
}

int64_t ptrc_judge_end_ns(const struct ptrc_judge *j, int64_t last_ns)
{
	int64_t end_ns = INT64_MIN;

	for (size_t i = 0; i < j->source_count; i++) {
		const struct ptrc_judge_source *s = &j->sources[i];

		if (!s->is_stopped)
			return last_ns;
		end_ns = s->stop_ns > end_ns ? s->stop_ns : end_ns;
	}
	return end_ns;
}

/* Whether every event of this type begins or ends a pair of the rule, even if it does not fulfil the conditions. The
 * conditions then only select which of these pairs are judged. This does not hold if the type matches both events of
 * the rule: then the conditions say which events begin pairs and which end them. */
static bool is_paired_by_type(const struct ptrc_rule *r, const char *name)
{
	return r->kind == PTRC_RULE_PAIR && !(ptrc_glob_matches(r->events[0].pattern, name) &&
					      ptrc_glob_matches(r->events[1].pattern, name));
}

void ptrc_judge_find_key(struct ptrc_judge *j, struct ptrc_trial *t)
{
	const struct ptrc_rule *r = t->rule;
	struct ptrc_judge_key *k;

	t->key = 0;
	if (!r->by_text && r->kind != PTRC_RULE_PAIR)
		return;
	for (t->key = 1; t->key < j->key_count; t->key++) {
		const char *text = j->keys[t->key].by_text;

		if (text && r->by_text ? !strcmp(text, r->by_text) : text == r->by_text)
			return;
	}
	k = &j->keys[j->key_count++];
	k->by_text = r->by_text;
	ptrc_key_begin(&k->key, 0);
}

/* Returns the shortest of the rule's limits: `within` and the bounds of a pair. Returns -1 if the rule has none. */
static int64_t limit_of(const struct ptrc_rule *r)
{
	int64_t least_ns = r->within_ns;

	for (size_t i = 0; i < r->bound_count; i++)
		if (least_ns < 0 || r->bounds[i].ns < least_ns)
			least_ns = r->bounds[i].ns;
	return least_ns;
}

void ptrc_judge_begin(struct ptrc_judge *j, const struct ptrc_rules *rules, size_t source_count)
{
	*j = (struct ptrc_judge){
		.rules = rules,
		.source_count = source_count,
		.ending.early_end_ns = INT64_MAX,
	};
	j->sources = ptrc_cli_allocate(source_count * sizeof(*j->sources));
	j->trials = ptrc_cli_allocate((rules->count + 1) * sizeof(*j->trials));
	j->keys = ptrc_cli_allocate((rules->count + 2) * sizeof(*j->keys));
	j->keys[0].has_key = true;
	ptrc_key_begin(&j->keys[0].key, 0);
	j->keys[0].hash = ptrc_table_hash(j->keys[0].key.bytes, j->keys[0].key.size);
	j->key_count = 1;
	for (size_t i = 0; i < rules->count; i++) {
		const struct ptrc_rule *r = &rules->list[i];
		struct ptrc_trial *t = &j->trials[i];

		t->rule = r;
		t->ending = &j->ending;
		t->limit_ns = limit_of(r);
		if (r->at_most != UINT64_MAX)
			t->sources = ptrc_cli_allocate(source_count * sizeof(*t->sources));
		ptrc_judge_find_key(j, t);
		t->tolerance_ns = r->tolerance_ns < 0 ? rules->tolerance_ns : r->tolerance_ns;
		TAILQ_INIT(&t->requests);
		TAILQ_INIT(&t->fresh_begins);
		TAILQ_INIT(&t->remembered);
		TAILQ_INIT(&t->waiting);
	}
}

struct ptrc_roles *ptrc_judge_find_roles(struct ptrc_judge *j, const char *name)
{
	struct ptrc_roles *roles = ptrc_cli_allocate(sizeof(*roles));

	roles->count = 0;
	for (size_t i = 0; i < j->rules->count; i++) {
		struct ptrc_trial *t = &j->trials[i];
		size_t count = t->rule->event_count;
		bool is_by_type = is_paired_by_type(t->rule, name);

		/* A type may match several events of a rule. The later event of the rule comes first in the
		 * list, so that an event answers or ends an earlier event, not itself. The kinds before and
		 * order need the opposite: in a rule of the kind before, the later event is what the first
		 * one requires. */
		for (size_t at = 0; at < count; at++) {
			size_t k = kind_of(t)->is_forward ? at : count - 1 - at;

			if (!ptrc_glob_matches(t->rule->events[k].pattern, name))
				continue;
			t->has_type |= 1U << k;
			roles = ptrc_cli_reallocate(
				roles, sizeof(*roles) + (roles->count + 1) * sizeof(*roles->list));
			roles->list[roles->count++] =
				(struct ptrc_role){t, (unsigned int)k, is_by_type};
		}
	}
	return roles;
}

void ptrc_judge_end(struct ptrc_judge *j)
{
	for (size_t i = 0; i < j->rules->count; i++) {
		struct ptrc_trial *t = &j->trials[i];

		t->is_final = j->ending.have_all_ended && t->rule->at_end != PTRC_RULE_IGNORE;
		if (kind_of(t)->end)
			kind_of(t)->end(t);
		for (void *thing = NULL;
		     kind_of(t)->end_each && (thing = ptrc_table_next(&t->table, thing));)
			kind_of(t)->end_each(t, thing);
		ptrc_trial_decide(t);
	}
}

static void free_cases(struct ptrc_cases *cases)
{
	for (size_t i = 0; i < cases->count; i++)
		free_case(&cases->list[i]);
}

void ptrc_judge_free(struct ptrc_judge *j)
{
	for (size_t i = 0; j->rules && i < j->rules->count; i++) {
		struct ptrc_trial *t = &j->trials[i];

		free_cases(&t->worst);
		free_cases(&t->shortest);
		free_cases(&t->doubts);
		free_cases(&t->shown);
		free_cases(&t->crowded);
		free(t->sources);
		free(t->crowds);
		ptrc_table_free(&t->table);
		ptrc_quantiles_free(&t->lengths);
		free(t->reason);
		for (size_t k = 0; k < t->note_count; k++)
			free(t->notes[k]);
	}
	for (size_t i = 0; i < j->key_count; i++)
		ptrc_key_free(&j->keys[i].key);
	free(j->keys);
	free(j->trials);
	free(j->sources);
}
