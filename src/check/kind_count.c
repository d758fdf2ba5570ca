/* SPDX-License-Identifier: MIT */
/* The kinds never, exists and count. */
#include "config.h"
#include "src/check/kind.h"

#include <inttypes.h>

struct counted {
	struct ptrc_table_entry entry;
	uint64_t count;
	/* The last event with this key; once the maximum is exceeded, the event that exceeded it. */
	struct ptrc_moment at;
};

static void take_never(struct ptrc_now *n)
{
	struct ptrc_trial *t = n->trial;

	t->matched++;
	t->broken++;
	ptrc_cases_add(&t->worst, UINT64_MAX - t->broken, &n->at, NULL, "happened");
}

/* Takes an event that came after t->base, the moment from which `within` counts. */
static void take_existing(struct ptrc_now *n)
{
	struct ptrc_trial *t = n->trial;
	int64_t late_ns = ptrc_when_subtract(n->at.ns, t->base.ns);

	if (t->is_found)
		return;
	if (t->rule->event_count == 2 && !t->worst.count)
		ptrc_trial_compare_clocks(t, &t->base, &n->at, 1);
	if (late_ns <= t->rule->within_ns)
		t->is_found = true;
	else if (!t->worst.count)
		ptrc_cases_add(&t->worst, 1, &n->at, NULL, "came after %s",
			       ptrc_duration_text(late_ns, true));
}

static void take_exists(struct ptrc_now *n)
{
	struct ptrc_trial *t = n->trial;

	if (n->event == 1) {
		if (t->has_base)
			return;
		t->has_base = true;
		t->base = n->at;
		t->used_event = n->judge->event_count;
		t->is_base_doubtful = ptrc_ending_has_loss(t->ending);
		if (ptrc_trial_is_any_near(t, &t->early, &n->at))
			t->is_found = true;
		else if (t->early.has_last && t->rule->within_ns >= 0)
			ptrc_trial_compare_clocks(t, &n->at, &t->early.last, 1);
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
		ptrc_recent_add(&t->early, &n->at);
}

static void take_counted(struct ptrc_now *n, const struct ptrc_judge_key *k)
{
	struct ptrc_trial *t = n->trial;
	struct counted *c = ptrc_judge_key_find(&t->table, k, sizeof(*c));

	t->matched++;
	c->count++;
	if (c->count <= t->rule->max || c->count == t->rule->max + 1)
		c->at = n->at;
}

static void end_count(struct ptrc_trial *t, void *thing)
{
	const struct counted *c = thing;
	bool is_many = c->count > t->rule->max;

	if (!is_many && c->count >= t->rule->min) {
		t->kept++;
		return;
	}
	*(is_many ? &t->broken : &t->doubtful) += 1;
	ptrc_cases_add(is_many ? &t->worst : &t->doubts, is_many ? c->count : UINT64_MAX - c->count,
		       &c->at, NULL, "%" PRIu64 " event%s", c->count, c->count == 1 ? "" : "s");
}

const struct ptrc_kind ptrc_kind_never = {.take = take_never};
const struct ptrc_kind ptrc_kind_exists = {.take = take_exists};
const struct ptrc_kind ptrc_kind_count = {
	.take_first = take_counted,
	.end_each = end_count,
};
