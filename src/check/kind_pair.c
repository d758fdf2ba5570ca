/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/kind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An open pair. .before links it to the earlier open pairs with the same key. */
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

/* Returns the counter of the losses that may hide events of the pair. If the rule has the key `by`, the events of a
 * pair may be in several logs, so all losses count. Otherwise both events are of one thread, so only the losses
 * of its log count. */
static const uint64_t *gaps_of(const struct ptrc_now *n)
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

static struct ptrc_open *open_of(const struct ptrc_now *n)
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

static void count_begin(struct ptrc_now *n)
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
static void count_end(struct ptrc_now *n, const struct ptrc_begin *b)
{
	struct ptrc_trial *t = n->trial;
	const struct ptrc_begin *from = b;

	count_open(n->judge, t);
	settle_crowds(t, n->at.ns);
	if (is_cut_off(t, b))
		return;
	open_of(n)->count--;
	/* An end event that counts as earlier than the start of this pair ends an earlier pair with the same key. */
	while (from->before && ptrc_trial_is_near(t, &from->at, &n->at))
		from = from->before;
	for (size_t i = 0; i < t->crowd_count; i++)
		if (t->crowds[i].event > from->event &&
		    ptrc_trial_is_near(t, &t->crowds[i].at, &n->at))
			t->crowds[i].count--;
}

static void take_begin(struct ptrc_now *n, const struct ptrc_judge_key *k)
{
	struct begins *open = ptrc_judge_key_find(&n->trial->table, k, sizeof(*open));
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
	bool is_too_long = false, is_too_short = false, is_broken = false;

	for (size_t i = 0; i < t->rule->bound_count; i++) {
		const struct ptrc_rule_bound *bound = &t->rule->bounds[i];
		bool is_less = ptrc_rule_is_below(bound, (int64_t)length_ns);

		t->below[i] += is_less;
		is_too_long |= ptrc_rule_is_upper(bound) && !is_less;
		is_too_short |= !ptrc_rule_is_upper(bound) && is_less;
		is_broken |= ptrc_rule_is_limit(bound) && is_less != ptrc_rule_is_upper(bound);
	}
	t->broken += is_broken;
	if (is_too_long)
		ptrc_cases_add(&t->worst, length_ns, &b->at, end, "took %s",
			       ptrc_duration_text((int64_t)length_ns, true));
	if (is_too_short)
		ptrc_cases_add(&t->shortest, UINT64_MAX - length_ns, &b->at, end, "took %s",
			       ptrc_duration_text((int64_t)length_ns, true));
}

static void measure(struct ptrc_trial *t, const struct ptrc_begin *b, const struct ptrc_moment *end)
{
	int64_t length_ns = ptrc_when_subtract(end->ns, b->at.ns);

	ptrc_trial_compare_clocks(t, &b->at, end, 1);
	if (length_ns < 0) {
		t->backwards++;
		return;
	}
	t->kept++;
	ptrc_quantiles_add(&t->lengths, (uint64_t)length_ns);
	compare_with_bounds(t, b, end, (uint64_t)length_ns);
}

static void take_end(struct ptrc_now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct begins *open = ptrc_judge_key_seek(&t->table, k);
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
	ptrc_cases_add(&t->doubts, weight, &b->at, NULL, "no end for %s",
		       ptrc_duration_text(length_ns < 0 ? 0 : length_ns, true));
}

/* Whether a pair that has lasted for this long breaks the rule, whenever it ends. */
static bool is_too_long(const struct ptrc_rule *r, int64_t length_ns)
{
	for (size_t i = 0; i < r->bound_count; i++)
		if (ptrc_rule_is_limit(&r->bounds[i]) && ptrc_rule_is_upper(&r->bounds[i]) &&
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
	if (t->rule->by_text && t->rule->at_end == PTRC_RULE_IGNORE)
		return;
	for (struct begins *open = NULL; (open = ptrc_table_next(&t->table, open));)
		for (struct ptrc_begin *b = open->latest; b; b = b->before) {
			bool is_of_log = t->rule->by_text || b->at.source == source;

			if (b->is_selected && is_of_log && !is_cut_off(t, b)) {
				count_unended(t, b, ns);
				b->is_counted = true;
			}
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
		ptrc_cases_add(&t->crowded, t->most, &t->most_at, NULL, "%" PRIu64 " at once",
			       t->most);
}

const struct ptrc_kind ptrc_kind_pair = {
	.take_first = take_begin,
	.take_second = take_end,
	.doubt = doubt_pairs,
	.end_early = end_begins_early,
	.end_each = end_begins,
	.end = end_crowds,
	.has_ends = true,
};
