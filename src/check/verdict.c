/* SPDX-License-Identifier: MIT */
/*
 * A rule that is broken for certain fails. Otherwise a loss, and what is open at the end, leave it
 * undecided unless the rule says what to do then; and a rule that has had too few events to go by
 * fails.
 */
#include "config.h"
#include "src/check/verdict.h"

#include <inttypes.h>

#include "src/check/duration.h"
#include "src/cli/buffer.h"
#include "src/view/when.h"

/* What speaks against passing. */
struct findings {
	bool is_broken;
	/* Events may be missing that would decide otherwise. */
	bool has_loss;
	/* What comes behind the end of the log may decide otherwise. */
	bool is_open;
	/* The events that the rule is about, and how many it needs. */
	uint64_t count;
	/* The facts in words. */
	struct ptrc_buffer text;
};

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static bool has_loss(const struct ptrc_ending *e)
{
	return e->gap_count || e->has_unplaced_loss;
}

static void decide_never(const struct ptrc_trial *t, const struct ptrc_ending *e,
			 struct findings *f)
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

static void decide_exists(const struct ptrc_trial *t, const struct ptrc_ending *e,
			  struct findings *f)
{
	const struct ptrc_rule *r = t->rule;
	bool has_base = t->has_base || (r->event_count == 1 && r->within_ns >= 0);
	int64_t base_ns = t->has_base ? t->base_ns : e->start_ns;

	if (t->is_found) {
		ptrc_buffer_text(&f->text, "happened");
		return;
	}
	f->has_loss = has_loss(e);
	f->is_open =
		r->within_ns < 0 || !has_base
			? e->is_unclosed
			: !t->worst.count && ptrc_when_subtract(e->ns, base_ns) <= r->within_ns;
	f->is_broken = !f->has_loss && !f->is_open;
	if (r->event_count == 2 && !t->has_base)
		ptrc_buffer_format(&f->text, "there was no %s", r->events[1].pattern);
	else if (t->worst.count)
		ptrc_buffer_format(&f->text, "did not happen within %s", r->within_text);
	else
		ptrc_buffer_text(&f->text, "did not happen");
}

static void decide_count(const struct ptrc_trial *t, const struct ptrc_ending *e,
			 struct findings *f)
{
	const struct ptrc_rule *r = t->rule;
	uint64_t keys = t->broken + t->doubtful + t->kept;
	/* Too few are those of keys that have too few, and none at all. */
	bool is_short = t->doubtful || (!keys && r->min);

	f->has_loss = has_loss(e) && (r->has_max || is_short);
	f->is_open = e->is_unclosed && (r->has_max || is_short);
	f->is_broken = t->broken || (is_short && !f->has_loss && !f->is_open);
	ptrc_buffer_format(&f->text, "%" PRIu64 " event%s", t->matched, plural(t->matched));
	if (!r->by_text || !keys)
		return;
	if (t->broken)
		ptrc_buffer_format(&f->text,
				   "; more than %" PRIu64 " of %" PRIu64 " of %" PRIu64
				   " values of %s",
				   r->max, t->broken, keys, r->by_text);
	else if (t->doubtful)
		ptrc_buffer_format(&f->text,
				   "; less than %" PRIu64 " of %" PRIu64 " of %" PRIu64
				   " values of %s",
				   r->min, t->doubtful, keys, r->by_text);
	else
		ptrc_buffer_format(&f->text, " of %" PRIu64 " value%s of %s", keys, plural(keys),
				   r->by_text);
}

static void put_of(struct ptrc_buffer *b, uint64_t count, uint64_t of, const char *what)
{
	ptrc_buffer_format(b, "%s%" PRIu64 " of %" PRIu64 " %s", b->used ? "; " : "", count, of,
			   what);
}

/* Decides a rule that each of its events, or keys, keeps or breaks. */
static void decide_each(const struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	static const char *const good[PTRC_RULE_KINDS] = {
		[PTRC_RULE_AFTER] = "answered",
		[PTRC_RULE_BEFORE] = "have what they require before them",
		[PTRC_RULE_ORDER] = "in order",
	};
	static const char *const bad[PTRC_RULE_KINDS] = {
		[PTRC_RULE_AFTER] = "not answered in time",
		[PTRC_RULE_BEFORE] = "lack what they require before them",
		[PTRC_RULE_ORDER] = "out of order",
	};
	const struct ptrc_rule *r = t->rule;
	bool is_sure = !e->has_unplaced_loss;
	uint64_t all = t->kept + t->broken + t->doubtful + t->open;
	/* The first events of all types, if there is only one of each and nothing was lost before,
	 * stay the first ones. */
	bool is_whole = r->kind == PTRC_RULE_ORDER && !r->by_text && t->is_whole && is_sure;

	f->is_broken = t->broken && is_sure;
	f->has_loss = has_loss(e) && !is_whole;
	f->is_open = t->open || (e->is_unclosed && !is_whole);
	f->count = r->kind == PTRC_RULE_ORDER ? t->kept : t->matched;
	if (!all)
		ptrc_buffer_text(&f->text, "there was none");
	else if (r->kind == PTRC_RULE_ORDER && !r->by_text)
		ptrc_buffer_text(&f->text, t->broken	 ? bad[r->kind]
					   : t->doubtful ? "may be out of order"
					   : t->open	 ? "not all have happened"
							 : good[r->kind]);
	else if (t->broken)
		put_of(&f->text, t->broken, all, bad[r->kind]);
	else
		put_of(&f->text, t->kept, all, good[r->kind]);
}

/*
 * Whether a bound is kept if so many of the durations are below it. A quantile is the least duration
 * for which at least so many of 1,000 are not longer; so it is below a bound if as many durations
 * are. This counts each duration, so it is exact.
 */
static bool is_kept(const struct ptrc_rule_bound *b, uint64_t below, uint64_t count)
{
	uint64_t rank = count / 1000 * b->per_mille + (count % 1000 * b->per_mille + 999) / 1000;
	bool is_upper = b->order == PTRC_RULE_BELOW || b->order == PTRC_RULE_AT_MOST;

	if (!rank)
		rank = 1;
	return (below >= rank) == is_upper;
}

/* The quantile, which is within 1 %, but on the side of the bound where the exact one is. */
static int64_t quantile_of(const struct ptrc_trial *t, const struct ptrc_rule_bound *b,
			   uint64_t below)
{
	bool is_upper = b->order == PTRC_RULE_BELOW || b->order == PTRC_RULE_AT_MOST;
	bool is_low = is_kept(b, below, t->kept) == is_upper;
	int64_t ns = (int64_t)ptrc_quantiles_at(&t->lengths, b->per_mille);

	/* The shortest and the longest one are known. */
	if (!b->per_mille)
		return (int64_t)t->lengths.least;
	if (b->per_mille == 1000)
		return (int64_t)t->lengths.greatest;
	return (ns <= b->ns) == is_low ? ns : b->ns;
}

/* Whether the bound is one that a single duration breaks, whatever else there is. */
static bool is_limit(const struct ptrc_rule_bound *b)
{
	bool is_upper = b->order == PTRC_RULE_BELOW || b->order == PTRC_RULE_AT_MOST;

	return b->per_mille == (is_upper ? 1000 : 0);
}

/* What has no end yet is taken to be as short, and to be as long, as it can be: a bound is decided
 * if that makes no difference. With at_end: ignore only what has waited for so long that the bound is
 * decided for it counts. */
static void decide_bound(const struct ptrc_trial *t, const struct ptrc_ending *e, size_t i,
			 struct findings *f)
{
	const struct ptrc_rule_bound *b = &t->rule->bounds[i];
	bool is_end_ignored = t->rule->at_end == PTRC_RULE_IGNORE;
	uint64_t open_below = is_end_ignored ? 0 : t->open_below[i];
	uint64_t open = t->open - (t->open_below[i] - open_below);
	uint64_t count = t->kept + open;
	bool is_kept_if_long, is_kept_if_short, is_missed;

	if (!count)
		return;
	is_kept_if_long = is_kept(b, t->below[i], count);
	is_kept_if_short = is_kept(b, t->below[i] + open_below, count);
	/* Behind the end of a log that was not closed there may be any pairs. */
	is_missed = !is_kept_if_long && !is_kept_if_short &&
		    (!e->is_unclosed || is_limit(b) || is_end_ignored);
	if (has_loss(e)) {
		f->has_loss = true;
		f->is_broken |= !e->has_unplaced_loss && is_limit(b) && t->kept &&
				!is_kept(b, t->below[i], t->kept);
		/* With at_loss: ignore only what was measured counts. */
		f->is_broken |= t->rule->at_loss == PTRC_RULE_IGNORE && is_missed;
	} else {
		f->is_broken |= is_missed;
	}
	f->is_open |= is_kept_if_long != is_kept_if_short;
	if (t->kept) {
		ptrc_buffer_format(&f->text, "; %s ", b->key);
		ptrc_check_put_duration(&f->text, quantile_of(t, b, t->below[i]));
	}
}

static void decide_pair(const struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	f->count = t->kept;
	f->has_loss = has_loss(e);
	f->is_open = e->is_unclosed || (t->open && t->kept < t->rule->min_count);
	ptrc_buffer_format(&f->text, "%" PRIu64 " pair%s", t->kept, plural(t->kept));
	for (size_t i = 0; i < t->rule->bound_count; i++)
		decide_bound(t, e, i, f);
}

static void decide_loss(const struct ptrc_ending *e, struct findings *f)
{
	f->is_broken = has_loss(e);
	f->is_open = e->is_unclosed;
	ptrc_buffer_text(&f->text, f->is_broken ? "events are missing" : "nothing is missing");
}

static void find(const struct ptrc_trial *t, const struct ptrc_ending *e, struct findings *f)
{
	switch (t->rule->kind) {
	case PTRC_RULE_NEVER:
		decide_never(t, e, f);
		break;
	case PTRC_RULE_EXISTS:
		decide_exists(t, e, f);
		break;
	case PTRC_RULE_COUNT:
		decide_count(t, e, f);
		break;
	case PTRC_RULE_PAIR:
		decide_pair(t, e, f);
		break;
	case PTRC_RULE_LOSS:
		decide_loss(e, f);
		break;
	default:
		decide_each(t, e, f);
	}
}

static void put_doubts(const struct ptrc_trial *t, const struct ptrc_ending *e,
		       const struct findings *f, struct ptrc_buffer *b)
{
	const struct ptrc_rule *r = t->rule;

	if (f->has_loss && r->at_loss != PTRC_RULE_IGNORE) {
		if (has_loss(e))
			ptrc_buffer_text(b, "; events were lost");
		if (t->cut || t->misfits)
			ptrc_buffer_text(b, "; data of events is missing");
	}
	if (!f->is_open || r->at_end == PTRC_RULE_IGNORE)
		return;
	if (t->open && r->kind != PTRC_RULE_ORDER)
		ptrc_buffer_format(b, "; %" PRIu64 " open at the end of the log", t->open);
	else if (e->is_unclosed)
		ptrc_buffer_text(b, "; the log has no end");
	else
		ptrc_buffer_text(b, "; the log ends before that was decided");
}

/* The worse of two verdicts: fail, undecided, pass. */
static void worsen(enum ptrc_verdict *verdict, enum ptrc_rule_doubt doubt)
{
	if (doubt == PTRC_RULE_FAIL)
		*verdict = PTRC_VERDICT_FAIL;
	else if (doubt == PTRC_RULE_UNDECIDED && *verdict == PTRC_VERDICT_PASS)
		*verdict = PTRC_VERDICT_UNDECIDED;
}

void ptrc_trial_decide(struct ptrc_trial *t, const struct ptrc_ending *e)
{
	const struct ptrc_rule *r = t->rule;
	struct findings f = {.text = PTRC_BUFFER_INIT};
	struct ptrc_ending own = *e;

	/* An event that may be one of the rule's, or may have its key, is as good as lost. */
	own.has_unplaced_loss |= t->cut || t->misfits;
	find(t, &own, &f);
	t->is_broken = f.is_broken;
	t->verdict = f.is_broken ? PTRC_VERDICT_FAIL : PTRC_VERDICT_PASS;
	if (f.has_loss)
		worsen(&t->verdict, r->at_loss);
	if (f.is_open)
		worsen(&t->verdict, r->at_end);
	if (f.count < r->min_count) {
		if (t->verdict == PTRC_VERDICT_PASS)
			t->verdict = PTRC_VERDICT_FAIL;
		if (!f.is_broken)
			ptrc_buffer_format(&f.text, ", at least %" PRIu64 " wanted", r->min_count);
	}
	if (!f.is_broken)
		put_doubts(t, e, &f, &f.text);
	ptrc_buffer_char(&f.text, '\0');
	t->reason = f.text.bytes;
}

struct ptrc_cases *ptrc_trial_cases(struct ptrc_trial *t)
{
	static struct ptrc_cases none;
	bool has_worst = t->worst.count;

	none.count = 0;
	if (t->verdict == PTRC_VERDICT_PASS)
		return &none;
	/* The longest pairs are kept in any case; what has no end may be longer. */
	if (t->rule->kind == PTRC_RULE_PAIR)
		has_worst = t->is_broken &&
			    (!t->doubts.count ||
			     (has_worst && t->worst.list[0].weight >= t->doubts.list[0].weight));
	if (t->verdict == PTRC_VERDICT_FAIL && has_worst)
		return &t->worst;
	return t->doubts.count || t->rule->kind == PTRC_RULE_PAIR ? &t->doubts : &t->worst;
}
