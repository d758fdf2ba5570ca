/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/check.h"

#include <inttypes.h>
#include <posixtrace-control.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/glob.h"
#include "src/base/nearest.h"
#include "src/base/scope.h"
#include "src/spans/pair_report.h"
#include "src/text/event_format.h"
#include "src/query/losses.h"
#include "src/fields/when.h"

/* ---- reading ---- */

/* Returns the roles of the event type: the events of rules that it matches. They are found once for
 * each type. */
static const struct ptrc_roles *roles_of(struct ptrc_check *c, struct ptrc_source *s,
					 trace_event_id_t id)
{
	struct ptrc_type *type = ptrc_reader_type(&s->reader, id);

	if (__builtin_expect(!type->of_sink, 0))
		type->of_sink = ptrc_judge_find_roles(&c->judge, type->name.text);
	return type->of_sink;
}

/* Returns the index of the first event, from `at` on, that the judge needs: one that a rule
 * matches, one that reports a loss, the event that follows such a report in the same source, the
 * START or STOP of the trace, one between a STOP and a START, or the end of COMMAND. */
static size_t skip(void *self, struct ptrc_source *s, const struct posixtrace_block *b, size_t at)
{
	struct ptrc_check *c = self;

	if (c->judge.sources[s->order].is_at_loss || c->judge.sources[s->order].is_paused)
		return at;
	for (; at < b->pt_count; at++) {
		const struct posixtrace_event *e = &b->pt_events[at];
		trace_event_id_t id = e->pt_info.posix_event_id;

		if (roles_of(c, s, id)->count || id == POSIX_TRACE_START ||
		    id == POSIX_TRACE_STOP || ptrc_reader_type(&s->reader, id)->is_command_end ||
		    ptrc_reader_reports_loss(&s->reader, id, e->pt_data, e->pt_size))
			break;
	}
	return at;
}

/* Whether some event type matches the pattern, and all that match may have the data member by which the
 * begin and the end of a pair find each other (PTRC_PAIR_KEY). */
static bool may_have_key(struct ptrc_check *c, const char *pattern)
{
	bool is_any = false;

	for (size_t i = 0; i < c->query->source_count; i++)
		for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++) {
			struct ptrc_source *s = &c->query->sources[i];
			const struct ptrc_type *type = s->reader.types[id];

			if (!type || !ptrc_glob_matches(pattern, type->name.text))
				continue;
			is_any = true;
			if (!ptrc_pair_may_have_key(&s->view, &c->query->layouts, id))
				return false;
		}
	return is_any;
}

/* Called at the first event of a rule of the kind pair. If the rule has no key `by`, chooses what pairs its events,
 * as ptrc_pairs_take() does: the data member PTRC_PAIR_KEY if this event has it and all event types of the pair may
 * have it; else the thread. */
static void bind_pair(struct ptrc_check *c, struct ptrc_source *s, struct ptrc_trial *t)
{
	struct ptrc_rule *r = &c->rules->list[t - c->judge.trials];
	const char *begin = r->events[0].pattern, *end = r->events[1].pattern;
	struct ptrc_cli_reason why;

	if (r->by_text)
		return;
	if (may_have_key(c, begin) && may_have_key(c, end) &&
	    ptrc_field_find("data." PTRC_PAIR_KEY, &c->query->layouts, &r->by, &why) &&
	    ptrc_pair_has_key(&s->view, &r->by)) {
		r->by_text = "data." PTRC_PAIR_KEY;
		ptrc_judge_find_key(&c->judge, t);
	} else if (strcmp(begin, end) != 0) {
		/* c->pairs knows no conditions. So it cannot take pairs of a single type, whose events begin or end a
		 * pair depending on the conditions. */
		ptrc_pairs_add_types(&c->pairs, begin, end);
	}
}

static void bind_pairs(struct ptrc_check *c, struct ptrc_source *s, const struct ptrc_roles *roles)
{
	for (size_t i = 0; i < roles->count; i++) {
		struct ptrc_trial *t = roles->list[i].trial;

		if (t->is_bound || t->rule->kind != PTRC_RULE_PAIR)
			continue;
		t->is_bound = true;
		bind_pair(c, s, t);
	}
}

/* Whether c->pairs needs more events to find out whether pairing by thread is wrong. */
static bool may_contradict(const struct ptrc_check *c)
{
	for (size_t i = 0; i < c->pairs.count; i++)
		if (ptrc_pair_may_be_wrong(&c->pairs.list[i]))
			return true;
	return false;
}

/* Gives the current event to the judge. An event that the user's options do not select matches no
 * rule, but the judge gets it, too, because it may report a loss. */
static void take(void *self, struct ptrc_source *s)
{
	static const struct ptrc_roles none;
	struct ptrc_check *c = self;
	int64_t ns = ptrc_source_ns(s);
	bool is_selected = ptrc_select_event(&c->query->select, &s->view);
	const struct ptrc_roles *roles =
		is_selected ? roles_of(c, s, s->reader.event.posix_event_id) : &none;

	bind_pairs(c, s, roles);
	if (is_selected && may_contradict(c))
		ptrc_pairs_take(&c->pairs, s);
	c->backwards += ns < c->last_ns;
	c->last_ns = ns;
	ptrc_judge_take(&c->judge, roles, &s->view, (unsigned int)s->order);
}

static void take_early_end(void *self, struct ptrc_source *s)
{
	struct ptrc_check *c = self;

	ptrc_judge_take_early_end(&c->judge, ptrc_source_ns(s), (unsigned int)s->order);
}

/* Times in the rules' expressions may be relative to the trace's first event, so its time is passed on.
 * bind_where() refuses times relative to the last event, so any time can be passed on for that event. */
static void resolve_times(struct ptrc_check *c)
{
	int64_t first_ns = c->query->trace.first;

	for (size_t i = 0; i < c->rules->count; i++) {
		const struct ptrc_rule *r = &c->rules->list[i];

		for (size_t k = 0; k < 2 * r->event_count; k++)
			if (r->events[k / 2].wheres[k % 2])
				ptrc_where_resolve(r->events[k / 2].wheres[k % 2], first_ns,
						   first_ns);
	}
}

/* ---- the end ---- */

/* Fills in judge.ending: its time, whether events are missing at places that no event reports, which parts of the logs
 * are damaged or unclosed, and whether all logs have ended. */
static void find_losses(struct ptrc_check *c)
{
	struct ptrc_ending *ending = &c->judge.ending;

	ending->ns = ptrc_judge_end_ns(&c->judge, c->query->trace.last);
	ending->ns = ending->last_ns < ending->ns ? ending->last_ns : ending->ns;
	/* If the selected time ends before the trace does, an event that is not judged may still be
	 * the answer or the end of a pair that a rule waits for. */
	ending->have_all_ended = ending->last_ns >= c->query->trace.last;
	/* If it could not be decided whether an event is selected, this event counts as lost. */
	ending->has_unplaced_loss = ptrc_query_undecided(c->query) != 0;
	for (size_t i = 0; i < c->query->source_count; i++) {
		const struct ptrc_source *s = &c->query->sources[i];
		struct ptrc_losses rest = s->losses;

		ending->is_unclosed |= rest.is_unclosed || rest.has_gone_on;
		ending->has_gone_on |= rest.has_gone_on;
		ending->have_all_ended &= !rest.is_unclosed &&
					  c->judge.sources[s->order].has_seen_end &&
					  ptrc_reader_has_none_left(&s->reader);
		rest.is_unclosed = rest.has_gone_on = false;
		/* These parts alone do not mean that events are missing: damaged_parts hold none, and events of
		 * differing_parts that could not be read are counted as unreadable. */
		ending->has_damaged_part |= rest.damaged_parts || rest.differing_parts;
		rest.damaged_parts = rest.differing_parts = 0;
		/* If the judge has found a loss in this log, the log is taken to have the events that mark where a
		 * stream or a log was full or damaged. So the judge has found all losses of this kind, and they are
		 * taken out of `rest`. */
		if (c->judge.sources[s->order].has_loss) {
			rest.stream_events = rest.log_events = rest.unreadable_events = 0;
			rest.is_overrun = rest.is_unreadable_uncounted = false;
			rest.missing_files = 0;
		}
		if (ptrc_reader_find_type(&s->reader, PTRC_OS_LOST))
			rest.unobserved_events = 0;
		if (!ptrc_losses_is_any(&rest))
			continue;
		ending->has_unplaced_loss = true;
		/* --since sets the start of the selected time, whatever was lost before. */
		ending->lacks_start |= !c->judge.sources[s->order].has_first &&
				       ending->start_ns == c->query->trace.first;
	}
}

/* Adds a note to the rule's result. Returns false, and adds nothing, if the rule has this text as a note or as its
 * reason already, or has PTRC_NOTES_MAX notes. */
static bool __attribute__((format(printf, 2, 3)))
add_note(struct ptrc_trial *t, const char *format, ...)
{
	bool is_new = t->note_count < PTRC_NOTES_MAX;
	va_list values;
	char *text;

	va_start(values, format);
	if (vasprintf(&text, format, values) < 0)
		ptrc_cli_no_memory();
	va_end(values);
	is_new &= !t->reason || strcmp(t->reason, text) != 0;
	for (size_t i = 0; i < t->note_count; i++)
		is_new &= strcmp(t->notes[i], text) != 0;
	if (is_new)
		t->notes[t->note_count++] = text;
	else
		free(text);
	return is_new;
}

/* Makes a rule fail that passes only because no event matched it. The latest note says that no event has an event type
 * or a data member that the rule names: most likely, the name is misspelt. So this note becomes the reason. If events
 * may be missing, they may have the name: see ptrc_trial_refute(). absent: if not NULL, the pattern of the event type
 * that is missing; the reason then says what to write if that is no mistake. */
static void fail_by_note(struct ptrc_trial *t, const char *absent)
{
	unsigned int kinds = 1U << PTRC_RULE_NEVER | 1U << PTRC_RULE_COUNT | 1U << PTRC_RULE_BEFORE;
	PTRC_SCOPED char *advice = NULL;
	const char *note = t->notes[t->note_count - 1];

	if (t->verdict != PTRC_VERDICT_PASS || !(kinds & 1U << t->rule->kind))
		return;
	if (absent && strchr(absent, ' '))
		advice = ptrc_cli_text("%s; if it may be absent, write ? for the blank", note);
	else if (absent)
		advice = ptrc_cli_text("%s; if it may be absent, write %s*", note, absent);
	if (ptrc_trial_refute(t, advice ? advice : note))
		free(t->notes[--t->note_count]);
}

/* Adds a note that no event type matches the pattern. If the pattern has no '*', the note proposes similar names; a
 * rule of the kind PTRC_RULE_NEVER may then fail, see fail_by_note(). */
static void note_missing(const struct ptrc_check *c, struct ptrc_trial *t, const char *pattern)
{
	struct ptrc_nearest nearest = {0};
	char proposal[3 * TRACE_EVENT_NAME_MAX];
	/* A pattern with '*' need not match anything. Any other pattern, even with '?' or '[', is meant to match some
	 * name. So is one with a blank, as the word after it may be "where", misspelt. */
	bool is_name = !strchr(pattern, '*') || strchr(pattern, ' ');

	if (is_name)
		ptrc_query_has_type(c->query, pattern, &nearest);
	if (add_note(t, "no event type is called %s%s", pattern,
		     ptrc_nearest_text(&nearest, proposal, sizeof(proposal))) &&
	    is_name && t->rule->kind == PTRC_RULE_NEVER)
		fail_by_note(t, pattern);
}

/* Adds a note that is a count and a text in the format of ptrc_cli_count(). */
static void note_count(struct ptrc_trial *t, uint64_t count, const char *format)
{
	char text[200];

	ptrc_cli_count_text(text, sizeof(text), count, format);
	if (count)
		add_note(t, "%s", text);
}

/* Adds notes that only one file of a rotated log was read: events of its other files may change any verdict. */
static void note_rotated(const struct ptrc_check *c, struct ptrc_trial *t)
{
	for (size_t i = 0; i < c->query->source_count; i++) {
		const struct ptrc_reader *r = &c->query->sources[i].reader;

		if (!r->counts.pt_files &&
		    (r->attributes.log_rotate_bytes || r->attributes.log_rotate_ns))
			add_note(
				t,
				"%s is one file of a log that is rotated: what the others have, or "
				"lack, is not judged",
				r->path);
	}
}

/* Adds notes that data was cut, which is no loss. */
static void note_cut(const struct ptrc_check *c, struct ptrc_trial *t)
{
	for (size_t i = 0; i < c->query->source_count; i++) {
		const struct ptrc_reader *r = &c->query->sources[i].reader;

		if (r->counts.pt_data_needed)
			add_note(t, "%s has data that was cut, as the largest has %lu bytes",
				 r->path, r->counts.pt_data_needed);
	}
}

/* Called for a rule of which some events lack the field of its key: whether all events that it is about lack the field
 * or, if there is none of these, all its other events. */
static bool lacks_key(const struct ptrc_trial *t)
{
	return !t->matched && (t->lacks_key & 1U || !t->table.count);
}

static void add_notes(const struct ptrc_check *c, struct ptrc_trial *t)
{
	const struct ptrc_rule *r = t->rule;

	for (size_t i = 0; i < r->event_count; i++) {
		if (!(t->has_type & 1U << i))
			note_missing(c, t, r->events[i].pattern);
	}
	if (t->without_key &&
	    add_note(t, "%" PRIu64 " event%s left out, without %s", t->without_key,
		     t->without_key == 1 ? "" : "s", r->by_text) &&
	    lacks_key(t))
		fail_by_note(t, NULL);
	note_count(t, t->cut, "event[ had its|s had their] data cut");
	note_count(t, t->misfits, "event[ has|s have] data that does not fit its layout");
	note_count(t, t->unmatched_ends, "end[|s] without a begin");
	if (r->kind == PTRC_RULE_PAIR)
		note_count(t, t->halves,
			   "begin[ or end|s and ends] with a loss or a stop before the other one");
	if (r->kind == PTRC_RULE_LOSS || t->verdict != PTRC_VERDICT_PASS)
		note_rotated(c, t);
	if (r->kind == PTRC_RULE_LOSS)
		note_cut(c, t);
	note_count(t, t->backwards,
		   "answer[|s] with an earlier time than what [it answers|they answer]");
	note_count(t, t->undecided,
		   "event[|s] could not be decided, because a pattern would take too long");
}

/* ---- the events of the cases, which are read a second time ---- */

static bool is_at(const struct ptrc_source *s, const struct ptrc_moment *m)
{
	const struct posix_trace_event_info *e = &s->reader.event;

	return m->source == s->order && m->id == e->posix_event_id && m->pid == e->posix_pid &&
	       m->tid == e->posix_tid && m->ns == ptrc_when_ns(&e->posix_timestamp);
}

/* Formats the current event of the source as a line, which the caller frees. */
static char *line_of(struct ptrc_event_format *f, struct ptrc_source *s)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;

	ptrc_event_put(&b, f, &s->view);
	b.bytes[b.used - 1] = '\0';
	return b.bytes;
}

static void show_case(struct ptrc_case *c, struct ptrc_event_format *f, struct ptrc_source *s)
{
	if (!c->line && is_at(s, &c->at)) {
		c->line = line_of(f, s);
		c->name = ptrc_cli_copy(ptrc_reader_name(&s->reader, c->at.id)->text);
	}
	if (c->has_other && !c->other_line && is_at(s, &c->other))
		c->other_line = line_of(f, s);
}

/* Reads a log a second time, to show the events of the cases, which break a rule or leave it undecided. The losses of
 * the log are not counted again. */
static void show_events(struct ptrc_check *c, struct ptrc_source *source)
{
	struct ptrc_event_format format = {.time.is_local = !c->is_utc};
	PTRC_SCOPED struct posixtrace_span *spans = NULL;
	PTRC_SCOPED struct ptrc_case **cases = NULL;
	size_t span_count = 0, case_count = 0;

	for (size_t i = 0; i < c->rules->count; i++) {
		struct ptrc_cases *of_rule = ptrc_trial_cases(&c->judge.trials[i]);

		for (size_t k = 0; k < of_rule->count; k++) {
			struct ptrc_case *one = &of_rule->list[k];

			if (one->at.source == source->order)
				*ptrc_append(spans, span_count) =
					ptrc_when_span(one->at.ns, one->at.ns);
			if (one->has_other && one->other.source == source->order)
				*ptrc_append(spans, span_count) =
					ptrc_when_span(one->other.ns, one->other.ns);
			*ptrc_append(cases, case_count) = one;
		}
	}
	if (span_count && !ptrc_reader_select(&source->reader, spans, span_count, NULL))
		while (ptrc_reader_next(&source->reader)) {
			ptrc_view_find_layout(&source->view, &c->query->layouts);
			for (size_t i = 0; i < case_count; i++)
				show_case(cases[i], &format, source);
		}
	ptrc_event_format_free(&format);
}

static void report_pairs(struct ptrc_check *c)
{
	const char *thing = c->query->source_count == 1 ? c->query->sources->reader.path : NULL;

	for (size_t i = 0; i < c->pairs.count; i++)
		ptrc_pair_report_order(&c->pairs.list[i], thing, true);
	ptrc_pairs_forget(&c->pairs);
	free(c->pairs.list);
}

static void finish(void *self, bool is_read)
{
	struct ptrc_check *c = self;

	(void)is_read;
	report_pairs(c);
	find_losses(c);
	ptrc_judge_end(&c->judge);
	for (size_t i = 0; i < c->rules->count; i++)
		add_notes(c, &c->judge.trials[i]);
}

void ptrc_check_begin(struct ptrc_check *c, struct ptrc_rules *rules, struct ptrc_query *q)
{
	*c = (struct ptrc_check){
		.rules = rules,
		.query = q,
		.pairs.is_without_rows = true,
		.last_ns = INT64_MIN,
	};
	q->sink = (struct ptrc_sink){
		.self = c,
		.event = take,
		.skip = skip,
		.early_end = take_early_end,
		.finish = finish,
		.takes_all = true,
		.needs_trace = true,
	};
	ptrc_judge_begin(&c->judge, rules, q->source_count);
	for (size_t i = 0; i < rules->count; i++) {
		q->is_verifying |= rules->list[i].kind == PTRC_RULE_LOSS;
		c->judge.trials[i].hosts = q->hosts.count > 1 ? &q->hosts : NULL;
	}
	for (size_t i = 0; i < q->source_count; i++) {
		struct ptrc_source *s = &q->sources[i];

		for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
			if (s->reader.types[id])
				roles_of(c, s, id);
		/* If files before the first existing one are missing, their events count as lost, except those of files
		 * that --log-keep has deleted. */
		if (s->reader.counts.pt_earlier_files)
			ptrc_judge_take_late_start(&c->judge, (unsigned int)i,
						   s->reader.counts.pt_earlier_files <=
							   s->reader.counts.pt_deleted_files);
	}
}

static enum ptrc_exit status_of(const struct ptrc_check *c)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;

	for (size_t i = 0; i < c->rules->count; i++) {
		enum ptrc_verdict verdict = c->judge.trials[i].verdict;

		if (verdict == PTRC_VERDICT_FAIL)
			return PTRC_EXIT_FAILED;
		if (verdict == PTRC_VERDICT_UNDECIDED)
			status = PTRC_EXIT_UNDECIDED;
	}
	if (status == PTRC_EXIT_DONE && !c->query->is_loss_allowed &&
	    !ptrc_query_lacks_nothing(c->query))
		status = PTRC_EXIT_INCOMPLETE;
	return status;
}

/* If an expression of the rule can hold for no event, because it names an event type or uses a field that none of the
 * rule's events has, adds a note that names it. If it is a field, the rule may then fail, see fail_by_note(). A rule
 * may name event types that the program has not used, so their names leave the verdict unchanged. */
static void note_vain(struct ptrc_check *c, struct ptrc_trial *t)
{
	for (size_t i = 0; i < 2 * t->rule->event_count; i++) {
		const struct ptrc_rule_event *e = &t->rule->events[i / 2];
		struct ptrc_where *where = e->wheres[i % 2];
		struct ptrc_cli_texts vain = {0}, names = {0};

		if (!(t->has_type & 1U << i / 2) || !where)
			continue;
		ptrc_where_find_vain(where, ptrc_query_missing_member, c->query, e->pattern, &vain);
		for (size_t k = 0; k < vain.count; k++)
			if (add_note(t, "%s", vain.texts[k]))
				fail_by_note(t, NULL);
		ptrc_cli_free_copies(&vain);
		ptrc_query_find_vain_names(c->query, where, e->pattern, &names);
		for (size_t k = 0; k < names.count; k++)
			add_note(t, "%s", names.texts[k]);
		ptrc_cli_free_copies(&names);
	}
}

enum ptrc_exit ptrc_check_judge(struct ptrc_check *c)
{
	struct ptrc_query *q = c->query;
	bool is_done = ptrc_query_scan(q);

	for (size_t i = 0; i < q->source_count; i++)
		c->judge.sources[i].restarts = &q->sources[i].restarts;
	if (is_done) {
		resolve_times(c);
		c->judge.ending.start_ns = q->select.span.first > q->trace.first
						   ? q->select.span.first
						   : q->trace.first;
		c->judge.ending.last_ns = q->select.span.last;
		ptrc_query_run(q);
	}
	is_done &= ptrc_query_finish(q, is_done);
	/* ptrc_query_finish() has counted the events whose data does not fit its layout. show_events() decodes events
	 * again, so it comes later: otherwise these events would be counted twice. */
	for (size_t i = 0; i < q->source_count; i++) {
		is_done &= !q->sources[i].losses.read_error;
		show_events(c, &q->sources[i]);
	}
	for (size_t i = 0; i < c->rules->count; i++)
		note_vain(c, &c->judge.trials[i]);
	return is_done ? status_of(c) : PTRC_EXIT_FAILED;
}

void ptrc_check_report_times(const struct ptrc_check *c)
{
	for (size_t i = 0; i < c->rules->count; i++) {
		const struct ptrc_trial *t = &c->judge.trials[i];

		if (!t->unclear)
			continue;
		ptrc_cli_message(
			t->rule->name,
			"the clocks of two hosts may be wrong by %s together, which is more "
			"than the limit of %s: it cannot be told on which side of that "
			"%" PRIu64 " duration%s, and the verdict may be wrong",
			t->clock_error_ns == PTRC_BOUND_UNKNOWN
				? "any time"
				: ptrc_duration_text(t->clock_error_ns, true),
			ptrc_duration_text(t->limit_ns, true), t->unclear,
			t->unclear == 1 ? " is" : "s are");
	}
	if (c->backwards)
		ptrc_cli_count(
			NULL, c->backwards,
			"event[ has|s have] an earlier time than the event before: what took "
			"less than no time is not judged");
}
