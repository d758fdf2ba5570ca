/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/judge.h"

#include <stdlib.h>
#include <string.h>

#include "lib/model/glob.h"
#include "src/fields/when.h"

static const struct ptrc_kind *const kinds[PTRC_RULE_KINDS] = {
	[PTRC_RULE_NEVER] = &ptrc_kind_never,
	[PTRC_RULE_EXISTS] = &ptrc_kind_exists,
	[PTRC_RULE_COUNT] = &ptrc_kind_count,
	[PTRC_RULE_AFTER] = &ptrc_kind_after,
	[PTRC_RULE_BEFORE] = &ptrc_kind_before,
	[PTRC_RULE_PAIR] = &ptrc_kind_pair,
	[PTRC_RULE_ORDER] = &ptrc_kind_order,
	/* Decided by what the readers say of losses, not by events. */
	[PTRC_RULE_LOSS] = &(const struct ptrc_kind){0},
};

static const struct ptrc_kind *kind_of(const struct ptrc_trial *t)
{
	return kinds[t->rule->kind];
}

/* Whether the event, whose data was cut or does not fit its layout, may fulfil the conditions. *is_unsure becomes
 * whether that is unknown. */
static bool may_hold(const struct ptrc_role *role, struct ptrc_view *view, bool *is_unsure)
{
	const struct ptrc_rule_event *e = &role->trial->rule->events[role->event];

	*is_unsure = false;
	for (size_t i = 0; i < 2; i++) {
		bool is_this = false;

		if (e->wheres[i] && !ptrc_where_may_hold(e->wheres[i], view, &is_this))
			return *is_unsure = false;
		*is_unsure |= is_this;
	}
	return true;
}

/* Counts the event in .cut or .misfits, once for the rule, if it is unknown whether it belongs to the rule, or what its
 * key is. */
static void count_loss(struct ptrc_judge *j, const struct ptrc_role *role, struct ptrc_view *view)
{
	struct ptrc_trial *t = role->trial;
	bool is_unsure, is_keyed;

	if (t->maimed_event == j->event_count)
		return;
	is_keyed = (may_hold(role, view, &is_unsure) || role->is_by_type) && t->rule->by_text;
	if (!is_unsure && !(is_keyed && ptrc_view_has_lost(view, &t->rule->by)))
		return;
	t->maimed_event = j->event_count;
	t->cut += ptrc_view_is_cut(view);
	t->misfits += !ptrc_view_is_cut(view);
}

static void take(struct ptrc_now *n)
{
	const struct ptrc_kind *kind = kind_of(n->trial);
	const struct ptrc_judge_key *k;

	if (kind->take) {
		kind->take(n);
		return;
	}
	if (kind->forget)
		kind->forget(n->trial, n->at.ns);
	k = ptrc_now_key(n);
	if (k)
		(n->event ? kind->take_second : kind->take_first)(n, k);
}

static void take_role(struct ptrc_now *n, const struct ptrc_role *role)
{
	n->trial = role->trial;
	n->event = role->event;
	n->is_selected =
		ptrc_where_all_hold(role->trial->rule->events[role->event].wheres, 2, n->view);
	/* The view has noted whether fields that the expressions used were cut or did not fit the layout. A comparison
	 * with such a field is false, but its negation is not true: the event counts as missing. */
	if (__builtin_expect(ptrc_view_is_maimed(n->view), 0) && n->is_selected) {
		bool is_unsure;

		may_hold(role, n->view, &is_unsure);
		n->is_selected = !is_unsure;
	}
	if (n->is_selected || role->is_by_type)
		take(n);
	/* The key of a rule may have been such a field, too. */
	if (__builtin_expect(ptrc_view_is_maimed(n->view), 0))
		count_loss(n->judge, role, n->view);
}

/* Whether the event, in this role, ends a pair or answers an earlier event. */
static bool is_end(const struct ptrc_role *role)
{
	return role->event && kind_of(role->trial)->has_ends;
}

/* Counts a place of loss, after the rules have noted it. The rules are judged as if the trace had ended with the
 * selected time, so they note a later loss at that end. */
static void add_gap(struct ptrc_judge *j, int64_t ns, unsigned int source)
{
	ns = ns < j->ending.last_ns ? ns : j->ending.last_ns;
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
	add_gap(j, j->sources[source].stop.ns, source);
	j->ending.last_gap_ns = ns;
	j->ending.gap_count++;
	j->ending.stop_count++;
}

void ptrc_judge_take_late_start(struct ptrc_judge *j, unsigned int source, bool is_deleted)
{
	struct ptrc_judge_source *s = &j->sources[source];

	j->ending.has_deleted_files |= is_deleted;
	j->ending.lacks_start = true;
	s->is_paused = is_deleted;
	s->is_at_loss = !is_deleted;
	j->paused_count += s->is_paused;
	j->at_loss_count += s->is_at_loss;
	if (is_deleted)
		take_restart(j, INT64_MIN, source);
	else
		ptrc_judge_take_gap(j, INT64_MIN, source);
}

void ptrc_judge_take_early_end(struct ptrc_judge *j, int64_t ns, unsigned int source)
{
	if (ns > j->ending.last_ns)
		return;
	for (size_t i = 0; i < j->rules->count; i++) {
		struct ptrc_trial *t = &j->trials[i];

		if (kind_of(t)->end_early)
			kind_of(t)->end_early(t, ns, source);
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
static void take_at_gap(struct ptrc_now *n, const struct ptrc_roles *roles, bool is_restart)
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
	struct ptrc_now n = {
		.judge = j,
		.view = view,
		.at = {ptrc_when_ns(&e->posix_timestamp), e->posix_event_id, e->posix_pid,
		       e->posix_tid, source},
	};
	struct ptrc_judge_source *s = &j->sources[source];
	bool is_loss = ptrc_reader_is_loss(view->reader) || s->is_at_loss;
	bool is_restart = ptrc_reader_is_restart(view->reader, &s->stop);
	bool was_paused;

	if (__builtin_expect(n.at.ns > j->ending.last_ns, 0)) {
		/* A START still ends a time without recording: the latest STOP was not the end of the recording. */
		s->stop.is_stopped &= n.at.id != POSIX_TRACE_START;
		if (ptrc_reader_is_loss(view->reader))
			ptrc_judge_take_gap(j, n.at.ns, source);
		else if (is_restart && !s->is_at_loss)
			take_restart(j, n.at.ns, source);
		return;
	}
	j->event_count++;
	ptrc_reader_take_stop(view->reader, &s->stop);
	if (ptrc_reader_type(view->reader, n.at.id)->is_command_end)
		s->has_seen_end = !s->stop.is_stopped;
	s->has_first |= n.at.id == POSIX_TRACE_START && view->reader->read_count == 1;
	was_paused = s->is_paused;
	s->is_paused = s->restarts && ptrc_reader_will_restart(s->restarts, &s->stop);
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
	if (ptrc_judge_is_other_at_loss(j, source)) {
		j->ending.gap_count++;
	} else if (ptrc_judge_is_other_paused(j, source)) {
		j->ending.gap_count++;
		j->ending.stop_count++;
	}
}

int64_t ptrc_judge_end_ns(const struct ptrc_judge *j, int64_t last_ns)
{
	int64_t end_ns = INT64_MIN;

	for (size_t i = 0; i < j->source_count; i++) {
		const struct ptrc_judge_source *s = &j->sources[i];

		if (!s->stop.is_stopped)
			return last_ns;
		end_ns = s->stop.ns > end_ns ? s->stop.ns : end_ns;
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
		.ending.last_ns = INT64_MAX,
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

void ptrc_judge_free(struct ptrc_judge *j)
{
	for (size_t i = 0; j->rules && i < j->rules->count; i++) {
		struct ptrc_trial *t = &j->trials[i];

		ptrc_cases_free(&t->worst);
		ptrc_cases_free(&t->shortest);
		ptrc_cases_free(&t->doubts);
		ptrc_cases_free(&t->shown);
		ptrc_cases_free(&t->crowded);
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
