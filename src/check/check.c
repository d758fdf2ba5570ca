/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/check/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/heap.h"
#include "lib/model/glob.h"
#include "src/check/verdict.h"
#include "src/cli/nearest.h"
#include "src/pairs/pairs.h"
#include "src/view/event_format.h"
#include "src/view/losses.h"
#include "src/view/when.h"

static int64_t time_of(const struct ptrc_reader *r, const struct posixtrace_event *e)
{
	int64_t ns = ptrc_when_ns(&e->pt_info.posix_timestamp);

	return ptrc_reader_is_moving(r) ? ptrc_correction_time(r->correction, ns) : ns;
}

bool ptrc_check_open(struct ptrc_check *c, struct ptrc_rules *rules, char *const *paths,
		     size_t count, const struct ptrc_cli_texts *labels, bool is_utc)
{
	struct ptrc_reader **readers;

	*c = (struct ptrc_check){
		.rules = rules, .first_ns = INT64_MAX, .last_ns = INT64_MIN, .is_utc = is_utc};
	c->logs = ptrc_cli_allocate(count * sizeof(*c->logs));
	memset(c->logs, 0, count * sizeof(*c->logs));
	for (size_t i = 0; i < count; i++) {
		struct ptrc_check_log *log = &c->logs[i];

		if (!ptrc_reader_open(&log->reader, paths[i]))
			return false;
		log->path = paths[i];
		log->reader.label = ptrc_labels_find(labels, paths[i]);
		log->number = (unsigned int)i;
		log->last_ns = INT64_MIN;
		log->view = (struct ptrc_view){.reader = &log->reader};
		ptrc_reader_load_names(&log->reader);
		ptrc_view_take_layouts(&log->view, &rules->layouts);
		if (rules->has_gap)
			ptrc_reader_watch_threads(&log->reader);
		c->log_count++;
	}
	if (count < 2 && !rules->has_bound)
		return true;
	readers = ptrc_cli_allocate((count + 1) * sizeof(struct ptrc_reader *));
	for (size_t i = 0; i < count; i++)
		readers[i] = &c->logs[i].reader;
	ptrc_hosts_begin(&c->hosts, readers, count, false);
	free(readers);
	return true;
}

bool ptrc_check_sync(struct ptrc_check *c, struct ptrc_sync *sync,
		     const struct ptrc_cli_texts *messages)
{
	struct ptrc_view **views =
		ptrc_cli_allocate((c->log_count + 1) * sizeof(struct ptrc_view *));
	bool is_done;

	c->messages = messages;
	for (size_t i = 0; i < c->log_count; i++)
		views[i] = &c->logs[i].view;
	/* All events are read in any case, so that damage is found. */
	is_done = ptrc_sync_hosts(sync, &c->hosts, views, &c->rules->layouts, NULL);
	if (is_done)
		ptrc_sync_report(sync);
	free(views);
	return is_done;
}

/* ---- reading ---- */

/* What the type is for the rules. Returns false if no rule wants it. */
static bool is_wanted(struct ptrc_check *c, struct ptrc_check_log *log, trace_event_id_t id)
{
	size_t place = id < PTRC_READER_IDS ? id : 0;

	if (__builtin_expect(!log->is_known[place], 0)) {
		log->is_known[place] = true;
		ptrc_judge_find_roles(&c->judge, ptrc_reader_name(&log->reader, id)->text,
				      &log->roles[place]);
	}
	return log->roles[place].count;
}

/* Reads the next block. Returns false at the end of the log. */
static bool next_block(struct ptrc_check *c, struct ptrc_check_log *log)
{
	const struct posixtrace_block *b;
	int64_t first_ns, last_ns;

	posixtrace_free_block(log->block.events);
	if (!ptrc_reader_next_block(&log->reader, &log->block)) {
		log->block.events = NULL;
		return false;
	}
	b = log->block.events;
	first_ns = time_of(&log->reader, &b->pt_events[0]);
	last_ns = time_of(&log->reader, &b->pt_events[b->pt_count - 1]);
	if (first_ns < c->first_ns)
		c->first_ns = first_ns;
	if (last_ns > c->last_ns)
		c->last_ns = last_ns;
	log->last_ns = last_ns;
	return true;
}

/* Reads up to the next event that a rule wants, that tells of a loss, or that is behind one. Returns
 * false at the end of the log. */
static bool advance(struct ptrc_check *c, struct ptrc_check_log *log)
{
	bool is_behind_loss = ptrc_judge_is_at_loss(&c->judge, log->number);

	for (;;) {
		struct ptrc_reader_block *b = &log->block;

		if (!b->events && !next_block(c, log))
			return false;
		for (; b->at < b->events->pt_count; b->at++) {
			const struct posixtrace_event *e = &b->events->pt_events[b->at];

			if (is_behind_loss || is_wanted(c, log, e->pt_info.posix_event_id) ||
			    ptrc_is_loss(e->pt_info.posix_event_id, e->pt_data, e->pt_size))
				return ptrc_reader_take(&log->reader, b);
			log->reader.read_count++;
		}
		if (!next_block(c, log))
			return false;
	}
}

static bool has_no_end(const struct ptrc_check_log *log)
{
	struct ptrc_losses losses;

	ptrc_reader_losses(&log->reader, false, &losses);
	return losses.is_unclosed;
}

/* Whether the log comes in the order of times once more: with an event, or with its end, if it has none that
 * was written. */
static bool has_next(struct ptrc_check *c, struct ptrc_check_log *log)
{
	if (log->is_over)
		return false;
	if (advance(c, log))
		return true;
	log->is_over = has_no_end(log);
	log->reader.event.posix_timestamp = ptrc_when_timespec(log->last_ns);
	return log->is_over;
}

static bool is_before(const struct ptrc_check_log *a, const struct ptrc_check_log *b)
{
	int64_t t = ptrc_when_ns(&a->reader.event.posix_timestamp);
	int64_t u = ptrc_when_ns(&b->reader.event.posix_timestamp);

	return t != u ? t < u : a->number < b->number;
}

/* The heap holds the logs that have an event. */
PTRC_HEAP_DEFINE(heap, struct ptrc_check_log, is_before);

static void take(struct ptrc_check *c, struct ptrc_check_log *log)
{
	trace_event_id_t id = log->reader.event.posix_event_id;

	is_wanted(c, log, id);
	ptrc_view_find_layout(&log->view, &c->rules->layouts);
	ptrc_judge_take(&c->judge, &log->roles[id < PTRC_READER_IDS ? id : 0], &log->view,
			log->number);
}

/* Tells the expressions when the logs begin. None of them asks for the end. */
static void resolve_times(struct ptrc_check *c)
{
	for (size_t i = 0; i < c->rules->count; i++) {
		const struct ptrc_rule *r = &c->rules->list[i];

		for (size_t k = 0; k < 2 * r->event_count; k++)
			if (r->events[k / 2].wheres[k % 2])
				ptrc_where_resolve(r->events[k / 2].wheres[k % 2], c->first_ns,
						   c->first_ns);
	}
}

static void read_logs(struct ptrc_check *c)
{
	struct ptrc_check_log **heap =
		ptrc_cli_allocate(c->log_count * sizeof(struct ptrc_check_log *));
	int64_t last_ns = INT64_MIN;
	size_t count = 0;

	for (size_t i = 0; i < c->log_count; i++)
		if (has_next(c, &c->logs[i]))
			heap[count++] = &c->logs[i];
	heap_build(heap, count);
	c->judge.start_ns = c->first_ns;
	resolve_times(c);
	while (count) {
		struct ptrc_check_log *log = heap[0];
		int64_t ns = ptrc_when_ns(&log->reader.event.posix_timestamp);

		c->backwards += ns < last_ns;
		last_ns = ns;
		if (c->hosts.count > 1 && !log->is_over)
			ptrc_hosts_note(&c->hosts, log->number, &log->reader);
		if (!log->is_over)
			take(c, log);
		else if (count > 1)
			ptrc_judge_take_early_end(&c->judge, ns, log->number);
		if (has_next(c, log))
			heap_sift_down(heap, count, 0);
		else
			heap_pop(heap, count--);
	}
	free(heap);
}

/* ---- the end ---- */

static bool has_loss_rule(const struct ptrc_check *c)
{
	for (size_t i = 0; i < c->rules->count; i++)
		if (c->rules->list[i].kind == PTRC_RULE_LOSS)
			return true;
	return false;
}

/* Finds out what is missing, and whether it is known where. */
static void find_losses(struct ptrc_check *c, struct ptrc_ending *ending)
{
	bool is_verifying = has_loss_rule(c);

	ending->have_all_ended = true;

	for (size_t i = 0; i < c->log_count; i++) {
		struct ptrc_losses *l = &c->logs[i].losses;
		struct ptrc_losses rest;

		ptrc_reader_losses(&c->logs[i].reader, true, l);
		if (is_verifying && !ptrc_reader_verify(&c->logs[i].reader, l))
			c->has_failed = true;
		c->has_failed |= l->read_error != 0;
		c->is_incomplete |= ptrc_losses_is_any(l);
		ending->is_unclosed |= l->is_unclosed;
		ending->have_all_ended &=
			!l->is_unclosed && ptrc_reader_have_all_ended(&c->logs[i].reader);
		rest = *l;
		rest.is_unclosed = false;
		/* These parts have no events. */
		ending->has_damaged_part |= l->damaged_parts || l->differing_parts;
		rest.damaged_parts = rest.differing_parts = 0;
		/* Where a stream or a log was full, or damaged, there are events that tell so, if the
		 * trace does not leave them out. */
		if (c->judge.gap_count) {
			rest.stream_events = rest.log_events = rest.unreadable_events = 0;
			rest.is_overrun = rest.is_unreadable_uncounted = false;
			rest.missing_files = 0;
		}
		ending->has_unplaced_loss |= ptrc_losses_is_any(&rest);
	}
}

static void __attribute__((format(printf, 2, 3)))
add_note(struct ptrc_trial *t, const char *format, ...)
{
	va_list values;

	if (t->note_count == PTRC_NOTES_MAX)
		return;
	va_start(values, format);
	if (vasprintf(&t->notes[t->note_count++], format, values) < 0)
		ptrc_cli_no_memory();
	va_end(values);
}

/* Says that no event type matches, and which ones are near to a name. What must never happen and could not, as it
 * has no type, is most likely misspelt. */
static void note_missing(const struct ptrc_check *c, struct ptrc_trial *t, const char *pattern)
{
	struct ptrc_nearest nearest = {0};
	char proposal[3 * TRACE_EVENT_NAME_MAX];
	bool is_name = !strpbrk(pattern, "*?[\\");

	for (size_t i = 0; i < c->log_count && is_name; i++)
		for (size_t id = 0; id < PTRC_READER_IDS; id++) {
			const struct ptrc_reader_name *name = c->logs[i].reader.names[id];

			if (name && name->is_known)
				ptrc_nearest_offer(&nearest, pattern, name->text);
		}
	add_note(t, "no event type is called %s%s", pattern,
		 ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
	if (is_name && !c->is_incomplete && t->rule->kind == PTRC_RULE_NEVER &&
	    t->verdict == PTRC_VERDICT_PASS) {
		t->verdict = PTRC_VERDICT_FAIL;
		free(t->reason);
		t->reason = t->notes[--t->note_count];
	}
}

static void note_count(struct ptrc_trial *t, uint64_t count, const char *one, const char *several)
{
	if (count)
		add_note(t, "%" PRIu64 " %s", count, count == 1 ? one : several);
}

/* Whether the log is one file of a rotated log, which was opened for itself. */
static bool is_one_of_several(const struct ptrc_check_log *log)
{
	struct posixtrace_log_rotation rotation = {0};
	trace_attr_t attr;

	if (log->reader.counts.pt_files || posix_trace_get_attr(log->reader.trace, &attr))
		return false;
	posixtrace_attr_getlogrotation(&attr, &rotation);
	posix_trace_attr_destroy(&attr);
	return rotation.pt_bytes || rotation.pt_time.tv_sec || rotation.pt_time.tv_nsec;
}

/* A file lacks nothing because of what others have. */
static void note_single_files(const struct ptrc_check *c, struct ptrc_trial *t)
{
	for (size_t i = 0; i < c->log_count; i++)
		if (is_one_of_several(&c->logs[i]))
			add_note(
				t,
				"%s is one file of a log that is rotated: what the others have, or "
				"lack, is not judged",
				c->logs[i].reader.path);
}

/* No event is missing because of it. */
static void note_cut_data(const struct ptrc_check *c, struct ptrc_trial *t)
{
	for (size_t i = 0; i < c->log_count; i++) {
		const struct ptrc_reader *r = &c->logs[i].reader;

		if (r->counts.pt_data_needed)
			add_note(t, "%s has data that was cut, as the largest has %lu bytes",
				 r->path, r->counts.pt_data_needed);
	}
}

static void add_notes(const struct ptrc_check *c, struct ptrc_trial *t)
{
	const struct ptrc_rule *r = t->rule;
	uint64_t cuts = 0;

	for (size_t i = 0; i < r->event_count; i++) {
		if (!(t->has_type & 1U << i))
			note_missing(c, t, r->events[i].pattern);
		for (size_t k = 0; k < 2; k++)
			if (r->events[i].wheres[k])
				cuts += ptrc_where_cut_count(r->events[i].wheres[k]);
	}
	if (t->without_key)
		add_note(t, "%" PRIu64 " event%s left out, without %s", t->without_key,
			 t->without_key == 1 ? "" : "s", r->by_text);
	note_count(t, t->cut, "event had its data cut", "events had their data cut");
	note_count(t, t->misfits, "event has data that does not fit its layout",
		   "events have data that does not fit its layout");
	note_count(t, t->unmatched_ends, "end without a begin", "ends without a begin");
	if (r->kind == PTRC_RULE_PAIR) {
		note_count(t, t->open, "begin without an end", "begins without an end");
		note_count(t, t->doubtful, "begin or end with a loss before the other one",
			   "begins and ends with a loss before the other one");
	}
	if (r->kind == PTRC_RULE_LOSS) {
		note_single_files(c, t);
		note_cut_data(c, t);
	}
	note_count(t, t->backwards, "answer with an earlier time than what it answers",
		   "answers with an earlier time than what they answer");
	note_count(t, cuts, "text longer than what a pattern looks at",
		   "texts longer than what a pattern looks at");
}

/* ---- events that show what is wrong ---- */

/* Whether the event that was read is the one of that moment. */
static bool is_at(const struct ptrc_check_log *log, const struct ptrc_moment *m)
{
	const struct posix_trace_event_info *e = &log->reader.event;

	return m->source == log->number && m->id == e->posix_event_id && m->pid == e->posix_pid &&
	       m->tid == e->posix_tid && m->ns == ptrc_when_ns(&e->posix_timestamp);
}

static char *copy_of(const char *bytes, size_t size)
{
	char *copy = ptrc_cli_allocate(size + 1);

	memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

struct showing {
	struct ptrc_check *check;
	struct ptrc_check_log *log;
	struct ptrc_event_format format;
	struct ptrc_event_labels labels;
	struct posixtrace_span *spans;
	size_t span_count;
};

/* The event that was read as a line. */
static char *line_of(struct showing *s)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	char *line;

	ptrc_event_put(&b, &s->format, &s->labels, &s->log->view);
	line = copy_of(b.bytes, b.used - 1);
	ptrc_buffer_free(&b);
	return line;
}

static void show_case(struct showing *s, struct ptrc_case *c)
{
	const struct ptrc_reader_name *name;

	if (!c->line && is_at(s->log, &c->at)) {
		name = ptrc_reader_name(&s->log->reader, c->at.id);
		c->line = line_of(s);
		c->name = copy_of(name->text, name->size);
	}
	if (c->has_other && !c->other_line && is_at(s->log, &c->other))
		c->other_line = line_of(s);
}

static void want(struct showing *s, const struct ptrc_moment *m)
{
	if (m->source != s->log->number)
		return;
	s->spans = ptrc_cli_reallocate(s->spans, (s->span_count + 1) * sizeof(*s->spans));
	s->spans[s->span_count++] = ptrc_when_span(m->ns, m->ns);
}

static void each_case(struct showing *s, void (*function)(struct showing *, struct ptrc_case *))
{
	struct ptrc_check *c = s->check;

	for (size_t i = 0; i < c->rules->count; i++) {
		struct ptrc_cases *cases = ptrc_trial_cases(&c->judge.trials[i]);

		for (size_t k = 0; k < cases->count; k++)
			function(s, &cases->list[k]);
	}
}

static void want_case(struct showing *s, struct ptrc_case *c)
{
	want(s, &c->at);
	if (c->has_other)
		want(s, &c->other);
}

/* Reads the events of the cases in a log. What the reader finds missing now has been told. */
static void show_events(struct ptrc_check *c, struct ptrc_check_log *log)
{
	static struct showing s;

	s = (struct showing){.check = c, .log = log};
	s.format.time.is_local = !c->is_utc;
	each_case(&s, want_case);
	if (s.span_count && !ptrc_reader_select(&log->reader, s.spans, s.span_count, NULL))
		while (ptrc_reader_next(&log->reader)) {
			ptrc_view_find_layout(&log->view, &c->rules->layouts);
			each_case(&s, show_case);
		}
	free(s.spans);
	ptrc_event_labels_free(&s.labels);
	ptrc_event_format_free(&s.format);
}

/* Whether there are events for the pattern, and all of them have a key of their own. */
static bool has_key(struct ptrc_check *c, const char *pattern)
{
	bool is_any = false;

	for (size_t i = 0; i < c->log_count; i++)
		for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++) {
			const struct ptrc_reader_name *name = c->logs[i].reader.names[id];

			if (!name || !ptrc_glob_matches(pattern, name->text))
				continue;
			is_any = true;
			if (!ptrc_pair_has_key(&c->logs[i].view, &c->rules->layouts, id))
				return false;
		}
	return is_any;
}

/* Gives pairs without a field the key that their events have, as ptrc_pairs_take() does. */
static void find_keys(struct ptrc_check *c)
{
	struct ptrc_cli_reason why;

	for (size_t i = 0; i < c->rules->count; i++) {
		struct ptrc_rule *r = &c->rules->list[i];

		if (r->kind != PTRC_RULE_PAIR || r->by_text || !has_key(c, r->events[0].pattern) ||
		    !has_key(c, r->events[1].pattern))
			continue;
		r->by_text = "data." PTRC_PAIR_KEY;
		ptrc_field_find(r->by_text, &c->rules->layouts, &r->by, &why);
	}
}

void ptrc_check_judge(struct ptrc_check *c)
{
	struct ptrc_ending ending = {0};

	find_keys(c);

	ptrc_judge_begin(&c->judge, c->rules, c->log_count);
	for (size_t i = 0; i < c->rules->count && c->hosts.count > 1; i++)
		c->judge.trials[i].hosts = &c->hosts;
	for (size_t i = 0; i < c->log_count; i++) {
		const struct ptrc_reader *r = &c->logs[i].reader;

		for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
			if (r->names[id])
				is_wanted(c, &c->logs[i], id);
		/* What was before the first file that was kept is as good as lost. */
		if (r->counts.pt_earlier_files)
			ptrc_judge_take_gap(&c->judge, INT64_MIN, (unsigned int)i);
	}
	read_logs(c);
	find_losses(c, &ending);
	ending.ns = c->last_ns;
	ending.start_ns = c->first_ns;
	ending.gap_count = c->judge.gap_count;
	ending.first_gap_ns = c->judge.first_gap_ns;
	ending.early_end_ns = c->judge.early_end_ns;
	ptrc_judge_end(&c->judge, &ending);
	for (size_t i = 0; i < c->rules->count; i++)
		add_notes(c, &c->judge.trials[i]);
	/* What is shown is decoded once more. */
	for (size_t i = 0; i < c->log_count; i++)
		ptrc_misfits_add(&c->misfits, &c->logs[i].view);
	for (size_t i = 0; i < c->log_count; i++)
		show_events(c, &c->logs[i]);
}

enum ptrc_exit ptrc_check_status(const struct ptrc_check *c, bool is_loss_allowed)
{
	enum ptrc_exit status = PTRC_EXIT_DONE;

	for (size_t i = 0; i < c->rules->count; i++) {
		enum ptrc_verdict verdict = c->judge.trials[i].verdict;

		if (verdict == PTRC_VERDICT_FAIL || c->has_failed)
			return PTRC_EXIT_FAILED;
		if (verdict == PTRC_VERDICT_UNDECIDED)
			status = PTRC_EXIT_UNDECIDED;
	}
	if (status == PTRC_EXIT_DONE && c->is_incomplete && !is_loss_allowed)
		status = PTRC_EXIT_INCOMPLETE;
	return status;
}

/* Says which rules want to know times more exactly than the clocks tell them. */
static void report_clocks(const struct ptrc_check *c)
{
	struct ptrc_buffer b = PTRC_BUFFER_INIT;

	for (size_t i = 0; i < c->rules->count; i++) {
		const struct ptrc_trial *t = &c->judge.trials[i];

		if (!t->unclear)
			continue;
		b.used = 0;
		ptrc_buffer_text(&b, "the clocks of two hosts may be wrong by ");
		if (t->clock_error_ns == PTRC_BOUND_UNKNOWN)
			ptrc_buffer_text(&b, "any time");
		else
			ptrc_buffer_exact_duration(&b, t->clock_error_ns);
		ptrc_buffer_text(&b, " together, which is more than the limit of ");
		ptrc_buffer_exact_duration(&b, t->limit_ns);
		ptrc_buffer_format(&b,
				   ": it cannot be told on which side of that %" PRIu64
				   " duration%s, and the verdict may be wrong",
				   t->unclear, t->unclear == 1 ? " is" : "s are");
		ptrc_buffer_char(&b, '\0');
		ptrc_cli_message(t->rule->name, "%s", b.bytes);
	}
	ptrc_buffer_free(&b);
}

void ptrc_check_report_losses(const struct ptrc_check *c)
{
	for (size_t i = 0; i < c->log_count; i++)
		ptrc_losses_report(&c->logs[i].losses, c->logs[i].reader.path);
	ptrc_misfits_report(&c->misfits);
	ptrc_hosts_report(&c->hosts);
	report_clocks(c);
	if (c->backwards)
		ptrc_cli_message(NULL,
				 "%" PRIu64 " event%s an earlier time than the event before: "
				 "what took less than no time is not judged",
				 c->backwards, c->backwards == 1 ? " has" : "s have");
}

void ptrc_check_close(struct ptrc_check *c)
{
	ptrc_misfits_free(&c->misfits);
	ptrc_hosts_free(&c->hosts);
	for (size_t i = 0; i < c->log_count; i++) {
		struct ptrc_check_log *log = &c->logs[i];

		ptrc_reader_block_free(&log->block);
		for (size_t id = 0; id < PTRC_READER_IDS; id++)
			free(log->roles[id].list);
		ptrc_view_free(&log->view);
		ptrc_reader_close(&log->reader);
	}
	free(c->logs);
	if (c->judge.trials)
		ptrc_judge_free(&c->judge);
}
