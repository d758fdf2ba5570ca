/* SPDX-License-Identifier: MIT */
/*
 * Decides rules. A rule that is certainly broken fails. Otherwise, a rule is undecided if lost events, or events
 * after the end of the log, might change the result; its keys at_loss and at_end may say that it passes or fails
 * then. A rule also fails if it has fewer events than its min_count.
 */
#include "config.h"
#include "src/check/trial.h"

#include <inttypes.h>
#include <stdlib.h>

#include "src/base/buffer.h"
#include "src/fields/when.h"

struct findings {
	bool is_broken;
	/* Lost events may change the verdict. */
	bool has_loss;
	/* Events after the end of the log may change the verdict. */
	bool is_open;
	/* count: the number of events, pairs or orders that were judged. It is compared with min_count. more: for
	 * pairs, how many may still come to that number. */
	uint64_t count, more;
	/* The reason for the verdict. */
	struct ptrc_buffer text;
};

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static bool has_loss(const struct ptrc_ending *e)
{
	return ptrc_ending_has_loss(e) || e->has_unplaced_loss;
}

/* Whether events that were lost, or came in a time without recording, may change a rule about several events. */
static bool has_gap(const struct ptrc_trial *t, const struct ptrc_ending *e)
{
	return has_loss(e) || (e->stop_count && t->doubtful);
}

static void decide_never(struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	f->is_broken = t->broken;
	f->has_loss = has_loss(e);
	f->is_open = e->is_unclosed;
	if (t->broken)
		ptrc_buffer_format(&f->text, "happened %" PRIu64 " time%s", t->broken,
				   plural(t->broken));
	else
		ptrc_buffer_text(&f->text, "did not happen");
}

static bool is_loss_ignored(const struct ptrc_trial *t)
{
	return t->rule->at_loss == PTRC_RULE_IGNORE;
}

static void decide_exists(struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	const struct ptrc_rule *r = t->rule;
	bool is_timed = r->within_ns >= 0;
	bool has_base = is_timed && (t->has_base || r->event_count == 1);
	int64_t base_ns = t->has_base ? t->base.ns : e->start_ns;
	int64_t last_ns = ptrc_when_add(base_ns, is_timed ? r->within_ns : 0);
	bool is_in_time, is_sure;

	if (t->is_found) {
		/* An event that was lost may be the real base, from which `within` counts: the
		 * event that was found may then have come too late. */
		f->has_loss =
			is_timed &&
			(r->event_count == 2 ? t->is_base_doubtful || e->has_unplaced_loss
					     : e->lacks_start || (ptrc_ending_has_loss(e) &&
								  e->first_gap_ns <= e->start_ns));
		f->is_open = is_timed && e->early_end_ns < base_ns;
		ptrc_buffer_text(&f->text, "happened");
		return;
	}
	/* A loss after the last moment at which the event would have been in time makes no difference. */
	f->has_loss = e->has_unplaced_loss ||
		      (ptrc_ending_has_loss(e) && (!has_base || e->first_gap_ns <= last_ns));
	is_sure = !f->has_loss || is_loss_ignored(t);
	is_in_time = !t->worst.count && e->ns <= last_ns && !t->is_final;
	/* An event that may be lost need not still come, so a closed log leaves only its loss in doubt. */
	f->is_open =
		has_base ? (is_in_time && (is_sure || e->is_unclosed)) || e->early_end_ns < last_ns
			 : e->is_unclosed;
	f->is_broken = is_sure && !f->is_open;
	if (r->event_count == 2 && !t->has_base)
		ptrc_buffer_format(&f->text, "there was no %s", r->events[1].pattern);
	else if (t->worst.count)
		ptrc_buffer_format(&f->text, "did not happen within %s", r->within_text);
	else
		ptrc_buffer_text(&f->text, "did not happen");
}

static void decide_count(struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	const struct ptrc_rule *r = t->rule;
	uint64_t keys = t->broken + t->doubtful + t->kept;
	uint64_t wrong = t->broken ? t->broken : t->doubtful;
	/* A key has too few events, or no event happened at all although min is above 0. */
	bool is_short = t->doubtful || (!keys && r->min);
	/* All events of some key may be missing. That key, too, may have had too few events, if min is above 1. */
	bool is_uncertain = r->has_max || is_short || (r->by_text && r->min > 1);

	f->has_loss = has_loss(e) && is_uncertain;
	f->is_open = e->is_unclosed && is_uncertain;
	f->is_broken =
		t->broken || (is_short && (!f->has_loss || is_loss_ignored(t)) && !f->is_open);
	ptrc_buffer_format(&f->text, "%" PRIu64 " event%s", t->matched, plural(t->matched));
	if (!r->by_text || !keys)
		return;
	if (wrong)
		ptrc_buffer_format(
			&f->text, "; %" PRIu64 " of %" PRIu64 " value%s of %s %s %s than %" PRIu64,
			wrong, keys, plural(keys), r->by_text, wrong == 1 ? "has" : "have",
			t->broken ? "more" : "less", t->broken ? r->max : r->min);
	else
		ptrc_buffer_format(&f->text, " of %" PRIu64 " value%s of %s", keys, plural(keys),
				   r->by_text);
}

/* Returns the number of events or keys that are open at the end of the log and count as kept by `at_end: ignore`. */
static uint64_t count_ignored(const struct ptrc_trial *t)
{
	return t->rule->at_end == PTRC_RULE_IGNORE ? t->open : 0;
}

/* Decides a rule that each event, or each key, keeps or breaks by itself. */
static void decide_each(struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	static const char *const good[PTRC_RULE_KINDS] = {
		[PTRC_RULE_AFTER] = "answered",
		[PTRC_RULE_BEFORE] = "have what they require before them",
		[PTRC_RULE_ORDER] = "in order",
	};
	const struct ptrc_rule *r = t->rule;
	const char *const bad[PTRC_RULE_KINDS] = {
		[PTRC_RULE_AFTER] = r->within_ns < 0 ? "not answered" : "not answered in time",
		[PTRC_RULE_BEFORE] = "lack what they require before them",
		[PTRC_RULE_ORDER] = "out of order",
	};
	uint64_t all = t->kept + t->broken + t->doubtful + t->open;
	/* Each event of the list has happened, in order and before any loss. So no lost event can have been the first
	 * of its place in the list. */
	bool is_whole =
		r->kind == PTRC_RULE_ORDER && !r->by_text && t->is_whole && !e->has_unplaced_loss;

	/* An event that is missing at an unknown time may be the one that any of these lacks. With `at_loss: ignore`, no
	 * lost event is a missing item of an order. */
	if (e->has_unplaced_loss) {
		uint64_t missing = is_loss_ignored(t) ? t->missing : 0;

		t->doubtful += t->broken - missing;
		t->broken = missing;
	}
	f->is_broken = t->broken;
	f->has_loss = has_gap(t, e) && !is_whole;
	f->is_open = t->open || (e->is_unclosed && !is_whole);
	f->count = r->kind == PTRC_RULE_ORDER ? t->kept + count_ignored(t) : t->matched;
	if (!all)
		ptrc_buffer_text(&f->text, "there was none");
	else if (r->kind == PTRC_RULE_ORDER && !r->by_text)
		ptrc_buffer_text(&f->text, t->missing	 ? "not all have happened"
					   : t->broken	 ? bad[r->kind]
					   : t->doubtful ? "may be out of order"
					   : t->open	 ? "not all have happened"
							 : good[r->kind]);
	else
		ptrc_buffer_format(&f->text, "%" PRIu64 " of %" PRIu64 " %s",
				   t->broken ? t->broken : t->kept, all,
				   !t->broken	? good[r->kind]
				   : t->missing ? "out of order or not whole"
						: bad[r->kind]);
}

/* Whether a bound for a quantile is kept if `below` of `count` durations are below the bound. The
 * quantile is the duration at a certain rank when all durations are sorted. So it is below the
 * bound if the number of durations below the bound is at least that rank. Unlike a quantile from
 * the histogram, this result is exact. */
static bool is_kept(const struct ptrc_rule_bound *b, uint64_t below, uint64_t count)
{
	return (below >= ptrc_quantile_rank(count, b->per_million)) == ptrc_rule_is_upper(b);
}

/* Called for a bound that the pairs that are known break. With `at_loss: ignore` the rule may pass all the same, because
 * events are missing at an unknown time. */
static void put_excuse(const struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	if (e->has_unplaced_loss && is_loss_ignored(t))
		ptrc_buffer_text(&f->text, ", in doubt");
}

/* Decides the bound twice: once as if the pairs without an end were as short as possible, and once as if they
 * were as long as possible. If the results differ, the bound is undecided. With `at_end: ignore`, a pair
 * without an end counts only if it has exceeded the bound already. */
static void decide_bound(struct ptrc_trial *t, const struct ptrc_ending *e, size_t i,
			 struct findings *f)
{
	const struct ptrc_rule_bound *b = &t->rule->bounds[i];
	bool is_end_ignored = t->rule->at_end == PTRC_RULE_IGNORE;
	uint64_t open_below = is_end_ignored ? 0 : t->open_below[i];
	uint64_t open = t->open - (t->open_below[i] - open_below);
	uint64_t count = t->kept + open;
	bool is_kept_if_long, is_kept_if_short, is_broken;

	if (!count)
		return;
	is_kept_if_long = is_kept(b, t->below[i], count);
	is_kept_if_short = is_kept(b, t->below[i] + open_below, count);
	/* If a log was not closed, any number of pairs may be missing: only limits are surely broken. */
	is_broken = !is_kept_if_long && !is_kept_if_short &&
		    (!e->is_unclosed || ptrc_rule_is_limit(b) || is_end_ignored);
	t->broken_bounds |= (unsigned int)is_broken << i;
	/* One duration beyond a limit breaks it, whatever events were lost. This includes the time that an open pair
	 * had lasted until the next loss. But any pair may be one during which an event is missing at an unknown
	 * time. */
	if (f->has_loss)
		is_broken &= (is_loss_ignored(t) || ptrc_rule_is_limit(b)) && !e->has_unplaced_loss;
	f->is_broken |= is_broken;
	f->is_open |= is_kept_if_long != is_kept_if_short;
	if (!t->kept)
		return;
	ptrc_buffer_format(
		&f->text, "; %s %s%s (bound %s", b->key,
		ptrc_quantiles_is_exact(&t->lengths) ? "" : "~",
		ptrc_duration_text((int64_t)ptrc_quantiles_at(&t->lengths, b->per_million), true),
		b->text);
	/* The quantile that is shown is that of the pairs with an end. It breaks the bound, but together with the
	 * pairs that are still open, the bound is kept. */
	if (is_kept_if_long && is_kept_if_short && !is_kept(b, t->below[i], t->kept))
		ptrc_buffer_format(&f->text, ", kept by %" PRIu64 " begin%s without an end", open,
				   plural(open));
	else if (!is_kept(b, t->below[i], t->kept))
		put_excuse(t, e, f);
	ptrc_buffer_char(&f->text, ')');
}

static void decide_pair(struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	const struct ptrc_rule *r = t->rule;
	/* A rule that only limits how many pairs are open at once needs no durations, so it counts every begin
	 * (matched). Any other rule counts the pairs that have both events (kept), and those that are open may still
	 * become such pairs. */
	bool is_of_begins = t->sources && !r->bound_count;

	f->more = is_of_begins || t->is_final ? 0 : t->open;
	f->count = is_of_begins ? t->matched : t->kept + count_ignored(t);
	f->has_loss = has_gap(t, e);
	f->is_open = e->is_unclosed || (f->count < r->min_count && f->more);
	ptrc_buffer_format(&f->text, "%" PRIu64 " pair%s", t->kept, plural(t->kept));
	for (size_t i = 0; i < r->bound_count; i++)
		decide_bound(t, e, i, f);
	/* Mentions begins without an end. If these leave the rule undecided, put_doubts() mentions them instead. */
	if (t->open && r->bound_count && (f->is_broken || !f->is_open))
		ptrc_buffer_format(&f->text, "; %" PRIu64 " begin%s without an end", t->open,
				   plural(t->open));
	if (!t->sources)
		return;
	/* The pairs counted in t->most were certainly open, unless events were lost at an unknown place. */
	f->is_broken |= t->most > r->at_most && !e->has_unplaced_loss;
	ptrc_buffer_format(&f->text, "; %" PRIu64 " at once (bound %" PRIu64, t->most, r->at_most);
	if (t->most > r->at_most)
		put_excuse(t, e, f);
	ptrc_buffer_char(&f->text, ')');
}

static void decide_loss(struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	bool is_missing = has_loss(e);

	(void)t;
	f->is_broken = is_missing || e->has_damaged_part;
	f->is_open = e->is_unclosed;
	ptrc_buffer_text(&f->text, is_missing		 ? "events are missing"
				   : e->has_damaged_part ? "a part without events is damaged"
							 : "nothing is missing");
}

static void (*const kinds[PTRC_RULE_KINDS])(struct ptrc_trial *, const struct ptrc_ending *,
					    struct findings *) = {
	[PTRC_RULE_NEVER] = decide_never, [PTRC_RULE_EXISTS] = decide_exists,
	[PTRC_RULE_COUNT] = decide_count, [PTRC_RULE_AFTER] = decide_each,
	[PTRC_RULE_BEFORE] = decide_each, [PTRC_RULE_PAIR] = decide_pair,
	[PTRC_RULE_ORDER] = decide_each,  [PTRC_RULE_LOSS] = decide_loss,
};

/* Adds to the reason the facts because of which the rule is undecided. */
static void put_doubts(const struct ptrc_trial *t, const struct findings *f, struct ptrc_buffer *b)
{
	const struct ptrc_rule *r = t->rule;

	if (f->has_loss && !is_loss_ignored(t)) {
		if (has_loss(t->ending))
			ptrc_buffer_text(b, "; events were lost");
		if (t->ending->stop_count && t->doubtful)
			ptrc_buffer_text(b, t->ending->has_deleted_files
						    ? "; files of the log were deleted"
						    : "; the trace was stopped for a time");
		if (t->cut || t->misfits)
			ptrc_buffer_text(b, "; data of events is missing");
		if (t->undecided)
			ptrc_buffer_text(
				b, "; a pattern did not decide whether events are of the rule");
	}
	if (!f->is_open || r->at_end == PTRC_RULE_IGNORE)
		return;
	if (t->open && r->kind != PTRC_RULE_ORDER)
		ptrc_buffer_format(b, "; %" PRIu64 " open at the end of the log", t->open);
	else if (t->ending->has_gone_on)
		ptrc_buffer_text(b, "; processes went on when the recording ended");
	else if (t->ending->is_unclosed)
		ptrc_buffer_text(b, "; the log has no end");
	else
		ptrc_buffer_text(b, "; the log ends before that was decided");
}

static void worsen(enum ptrc_verdict *verdict, enum ptrc_rule_doubt doubt)
{
	if (doubt == PTRC_RULE_FAIL)
		*verdict = PTRC_VERDICT_FAIL;
	else if (doubt == PTRC_RULE_UNDECIDED && *verdict == PTRC_VERDICT_PASS)
		*verdict = PTRC_VERDICT_UNDECIDED;
}

static void worsen_by_doubts(struct ptrc_trial *t, const struct findings *f)
{
	if (f->has_loss)
		worsen(&t->verdict, t->rule->at_loss);
	if (f->is_open)
		worsen(&t->verdict, t->rule->at_end);
}

/* Whether length_ns violates one of the bounds in t->broken_bounds: if is_long, an upper bound; else a lower bound. */
static bool breaks(const struct ptrc_trial *t, uint64_t length_ns, bool is_long)
{
	for (size_t i = 0; i < t->rule->bound_count; i++) {
		const struct ptrc_rule_bound *b = &t->rule->bounds[i];

		if (t->broken_bounds & 1U << i && ptrc_rule_is_upper(b) == is_long &&
		    ptrc_rule_is_below(b, (int64_t)length_ns) != is_long)
			return true;
	}
	return false;
}

static void show_case(struct ptrc_trial *t, struct ptrc_case *c)
{
	if (t->shown.count == PTRC_CASES)
		return;
	t->shown.list[t->shown.count++] = *c;
	*c = (struct ptrc_case){0};
}

/* Chooses the cases of a rule about pairs that the known pairs break: first the moment with the most open pairs, then
 * pairs that were too long and pairs that were too short by turns, then pairs without an end that
 * are too long already. */
static void show_pairs(struct ptrc_trial *t)
{
	if (t->crowded.count)
		show_case(t, &t->crowded.list[0]);
	for (size_t i = 0; i < PTRC_CASES; i++) {
		struct ptrc_case *c = &t->worst.list[i];

		if (i < t->worst.count && breaks(t, c->weight, true))
			show_case(t, c);
		c = &t->shortest.list[i];
		if (i < t->shortest.count && breaks(t, UINT64_MAX - c->weight, false))
			show_case(t, c);
	}
	for (size_t i = 0; i < t->doubts.count; i++)
		if (breaks(t, t->doubts.list[i].weight, true))
			show_case(t, &t->doubts.list[i]);
}

/* Returns the counter for the keys of the rule (or for the rule as a whole) that are not certainly kept: .doubtful,
 * .open or .broken. */
static uint64_t *fate_of(struct ptrc_trial *t, const struct findings *f)
{
	if (f->has_loss && !is_loss_ignored(t))
		return &t->doubtful;
	return f->is_open ? &t->open : &t->broken;
}

/* For the kind count: computes the numbers of keys for which the rule is kept, broken, doubtful or
 * open. When called, .doubtful counts the keys with too few events, and .broken those with too many. */
static void settle_counts(struct ptrc_trial *t, const struct findings *f)
{
	uint64_t *fate = fate_of(t, f);
	uint64_t few = t->doubtful;

	/* A rule without a key counts as one key, even if no event happened. */
	if (!t->rule->by_text && !t->table.count)
		*(t->rule->min ? &few : &t->kept) = 1;
	t->doubtful = 0;
	*fate += few;
	/* If the missing events are added, any key may have too many. */
	if (t->rule->has_max && fate != &t->broken) {
		*fate += t->kept;
		t->kept = 0;
	}
}

static void settle_existence(struct ptrc_trial *t, const struct findings *f)
{
	bool is_kept = t->is_found && !f->is_open && (!f->has_loss || is_loss_ignored(t));

	t->kept = 0;
	*(is_kept ? &t->kept : fate_of(t, f)) = 1;
}

/* For the kind pair: a pair that has lasted too long for `max` breaks the rule, even if its end is missing. If no event
 * can follow, nothing about the other pairs without an end is undecided. An event that is missing at an unknown time
 * may be one of any of these pairs. */
static void settle_pairs(struct ptrc_trial *t, const struct ptrc_ending *e)
{
	const struct ptrc_rule *r = t->rule;
	uint64_t late = 0;

	for (size_t i = 0; i < r->bound_count; i++)
		if (ptrc_rule_is_limit(&r->bounds[i]) && ptrc_rule_is_upper(&r->bounds[i]))
			late = t->open - t->open_below[i];
	t->kept -= t->broken;
	t->open = t->is_final ? 0 : t->open - late;
	t->broken += late + (t->sources && t->most > r->at_most);
	t->halves = t->doubtful;
	if (e->has_unplaced_loss) {
		t->doubtful += t->broken;
		t->broken = 0;
	}
}

void ptrc_trial_decide(struct ptrc_trial *t)
{
	const struct ptrc_rule *r = t->rule;
	struct findings f = {.text = PTRC_BUFFER_INIT};
	struct ptrc_ending own = *t->ending;

	for (size_t i = 0; i < 2 * r->event_count; i++)
		if (r->events[i / 2].wheres[i % 2])
			t->undecided += *ptrc_where_undecided(r->events[i / 2].wheres[i % 2]);
	/* An event of which it is unknown whether it belongs to the rule, or what its key is, counts as lost. */
	own.has_unplaced_loss |= t->cut || t->misfits || t->undecided;
	kinds[r->kind](t, &own, &f);
	t->verdict = f.is_broken ? PTRC_VERDICT_FAIL : PTRC_VERDICT_PASS;
	worsen_by_doubts(t, &f);
	if (f.count < r->min_count) {
		/* For the kind after, f.count is the number of events that want an answer. Answers that are still to
		 * come do not add to it. */
		bool is_sure = (r->kind == PTRC_RULE_AFTER || r->kind == PTRC_RULE_PAIR) &&
			       f.count + f.more < r->min_count && !own.is_unclosed &&
			       (!f.has_loss || is_loss_ignored(t));

		if (t->verdict == PTRC_VERDICT_PASS || is_sure)
			t->verdict = PTRC_VERDICT_FAIL;
		if (!f.is_broken)
			ptrc_buffer_format(&f.text, ", at least %" PRIu64 " wanted", r->min_count);
	}
	if (!f.is_broken)
		put_doubts(t, &f, &f.text);
	ptrc_buffer_char(&f.text, '\0');
	t->reason = f.text.bytes;
	if (r->kind == PTRC_RULE_COUNT)
		settle_counts(t, &f);
	if (r->kind == PTRC_RULE_EXISTS)
		settle_existence(t, &f);
	if (r->kind == PTRC_RULE_LOSS)
		*(f.is_broken ? &t->broken : f.is_open ? &t->open : &t->kept) = 1;
	if (r->kind == PTRC_RULE_PAIR) {
		show_pairs(t);
		settle_pairs(t, &own);
	}
}

bool ptrc_trial_refute(struct ptrc_trial *t, const char *reason)
{
	struct findings f = {
		.has_loss = has_loss(t->ending) || t->cut || t->misfits || t->undecided,
		.is_open = t->ending->is_unclosed,
		.text = PTRC_BUFFER_INIT,
	};

	t->verdict = f.has_loss || f.is_open ? PTRC_VERDICT_PASS : PTRC_VERDICT_FAIL;
	worsen_by_doubts(t, &f);
	if (t->verdict == PTRC_VERDICT_PASS)
		return false;
	ptrc_buffer_text(&f.text, reason);
	put_doubts(t, &f, &f.text);
	ptrc_buffer_char(&f.text, '\0');
	free(t->reason);
	t->reason = f.text.bytes;
	return true;
}

struct ptrc_cases *ptrc_trial_cases(struct ptrc_trial *t)
{
	static struct ptrc_cases none;

	none.count = 0;
	if (t->verdict == PTRC_VERDICT_PASS)
		return &none;
	if (t->rule->kind == PTRC_RULE_PAIR)
		return t->shown.count ? &t->shown : &t->doubts;
	if (t->verdict == PTRC_VERDICT_FAIL && t->worst.count)
		return &t->worst;
	return t->doubts.count ? &t->doubts : &t->worst;
}
