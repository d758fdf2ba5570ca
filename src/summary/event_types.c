/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/event_types.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/scope.h"
#include "src/session/orphans.h"

/* Adds the counts of a type to the sums. */
static void add_counts(struct ptrc_event_types *t, const struct ptrc_session_type *type)
{
	t->event_count += type->events;
	t->event_bytes += type->bytes;
	t->truncated_count += type->truncated;
}

int ptrc_event_types_from_session(struct ptrc_event_types *t, const char *name)
{
	struct ptrc_session_types types;
	int error = ptrc_session_types_get(name, &types);

	if (error)
		return error;
	*t = (struct ptrc_event_types){.list = types.types, .count = types.count};
	for (size_t i = 0; i < t->count; i++)
		add_counts(t, &t->list[i]);
	/* *t owns the list from now on, so only the rest of `types` is freed. */
	types.types = NULL;
	types.count = 0;
	ptrc_session_types_free(&types);
	return 0;
}

/* Adds an event type of a log or an active trace; `counts` may be NULL. */
static void add_type(struct ptrc_event_types *t, trace_id_t trace, trace_event_id_t id,
		     const char *name, const struct posixtrace_type_count *counts)
{
	char layout[POSIXTRACE_LAYOUT_MAX + 1];
	struct ptrc_session_type *type = ptrc_append(t->list, t->count);

	*type = (struct ptrc_session_type){.id = id, .name = ptrc_cli_copy(name)};
	if (counts) {
		type->events = counts->pt_events;
		type->bytes = counts->pt_bytes;
		type->truncated = counts->pt_truncated;
	}
	if (!posixtrace_eventid_get_layout(trace, id, layout, sizeof(layout)))
		type->layout = ptrc_cli_copy(layout);
	add_counts(t, type);
}

/* Returns the counts of the type, which are kept in .of_sink. The first call makes them, as zeros. */
static struct posixtrace_type_count *counts_of(struct ptrc_reader *r, trace_event_id_t id)
{
	struct ptrc_type *type = ptrc_reader_type(r, id);

	if (!type->of_sink)
		type->of_sink = ptrc_cli_allocate(sizeof(struct posixtrace_type_count));
	return type->of_sink;
}

static void count_by_reading(struct ptrc_event_types *t, struct ptrc_reader *r)
{
	while (ptrc_reader_next(r)) {
		struct posixtrace_type_count *counts = counts_of(r, r->event.posix_event_id);

		counts->pt_events++;
		counts->pt_bytes += r->size;
		counts->pt_truncated +=
			r->event.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED;
		if (r->read_count == 1)
			t->first = r->event.posix_timestamp;
		t->last = r->event.posix_timestamp;
	}
}

/* Whether the reader has met damage since the log was opened or ptrc_reader_select() or its like was last called. */
static bool has_met_damage(const struct ptrc_reader *r)
{
	struct ptrc_counts seen;

	return ptrc_trace_counts(r->trace, &seen) || seen.pt_damaged_gaps;
}

/* Takes the counts at the end of the log, and reads only the log's first and last events, for their times.
 * Returns false if the log has no counts, or damage makes them wrong. */
static bool count_by_totals(struct ptrc_event_types *t, struct ptrc_reader *r)
{
	PTRC_SCOPED struct posixtrace_type_count *totals = ptrc_type_counts(r->trace);
	bool is_damaged;

	if (!totals)
		return false;
	if (ptrc_reader_next(r))
		t->first = r->event.posix_timestamp;
	is_damaged = has_met_damage(r);
	if (!r->error && !ptrc_reader_select_last(r, 1, INT64_MAX, NULL, &(int64_t){0}))
		while (ptrc_reader_next(r))
			t->last = r->event.posix_timestamp;
	is_damaged = is_damaged || has_met_damage(r);
	if (is_damaged) {
		/* The counts that the log states include events that cannot be read. So the reader goes back to the
		 * start of the log, and the caller counts the events by reading them. */
		r->error = ptrc_reader_select(r, NULL, 0, NULL);
	} else {
		r->read_count = 0;
		for (trace_event_id_t id = 0; id < PTRC_READER_IDS; id++)
			if (totals[id].pt_events) {
				*counts_of(r, id) = totals[id];
				r->read_count += totals[id].pt_events;
			}
	}
	return !is_damaged || r->error;
}

void ptrc_event_types_from_log(struct ptrc_event_types *t, struct ptrc_reader *r, bool is_counting)
{
	*t = (struct ptrc_event_types){0};
	ptrc_reader_load_names(r);
	if (is_counting && !count_by_totals(t, r))
		count_by_reading(t, r);
	for (trace_event_id_t id = 0; id < PTRC_READER_IDS; id++) {
		const struct ptrc_type *known = r->types[id];

		/* A type is in the list if the log has events of it or knows its name. */
		if (known && (known->of_sink || known->name.is_known))
			add_type(t, r->trace, id, known->name.text, known->of_sink);
	}
}

void ptrc_event_types_from_trace(struct ptrc_event_types *t, trace_id_t trace)
{
	PTRC_SCOPED struct posixtrace_type_count *counts = ptrc_type_counts(trace);
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;

	*t = (struct ptrc_event_types){0};
	posix_trace_eventtypelist_rewind(trace);
	while (counts && ptrc_next_type(trace, &id))
		if (id < PTRC_READER_IDS && !posix_trace_eventid_get_name(trace, id, name))
			add_type(t, trace, id, name, &counts[id]);
}

void ptrc_event_types_free(struct ptrc_event_types *t)
{
	for (size_t i = 0; i < t->count; i++) {
		free(t->list[i].name);
		free(t->list[i].layout);
	}
	free(t->list);
	*t = (struct ptrc_event_types){0};
}

void ptrc_event_types_put_head(struct ptrc_buffer *b)
{
	ptrc_buffer_format(b, "%6s %12s %12s %12s  %s\n", "id", "events", "bytes", "truncated",
			   "event type");
}

void ptrc_event_type_put_text(struct ptrc_buffer *b, const struct ptrc_session_type *type)
{
	ptrc_buffer_format(b, "%6u %12llu %12llu %12llu  ", type->id,
			   (unsigned long long)type->events, (unsigned long long)type->bytes,
			   (unsigned long long)type->truncated);
	ptrc_text_put(b, type->name, strlen(type->name));
	if (type->layout) {
		ptrc_buffer_text(b, " {");
		ptrc_text_put(b, type->layout, strlen(type->layout));
		ptrc_buffer_char(b, '}');
	}
	ptrc_buffer_char(b, '\n');
}

void ptrc_event_type_put_json(struct ptrc_json *j, const struct ptrc_session_type *type)
{
	ptrc_json_bytes(j, "event", type->name, strlen(type->name));
	ptrc_json_u64(j, "type_id", type->id);
	ptrc_json_u64(j, "count", type->events);
	ptrc_json_u64(j, "bytes", type->bytes);
	ptrc_json_u64(j, "truncated", type->truncated);
	if (type->layout)
		ptrc_json_bytes(j, "layout", type->layout, strlen(type->layout));
}

void ptrc_event_types_put_text(struct ptrc_buffer *b, const struct ptrc_event_types *t)
{
	ptrc_event_types_put_head(b);
	for (size_t i = 0; i < t->count; i++)
		if (ptrc_event_type_is_used(&t->list[i]))
			ptrc_event_type_put_text(b, &t->list[i]);
}

void ptrc_event_types_json(struct ptrc_json *j, const char *key, const struct ptrc_event_types *t,
			   bool has_filtered)
{
	ptrc_json_open(j, key, '[');
	for (size_t i = 0; i < t->count; i++) {
		if (!ptrc_event_type_is_used(&t->list[i]))
			continue;
		ptrc_json_open(j, NULL, '{');
		ptrc_event_type_put_json(j, &t->list[i]);
		if (has_filtered)
			ptrc_json_bool(j, "filtered", t->list[i].is_filtered);
		ptrc_json_close(j, '}');
	}
	ptrc_json_close(j, ']');
}

bool ptrc_summary_is_session_name(const char *operand)
{
	return !strchr(operand, '/') && strcmp(operand, "-");
}

bool ptrc_summary_open_log(struct ptrc_reader *r, const char *operand)
{
	char text[PTRC_ORPHANS_TEXT_BYTES];

	if (!ptrc_summary_is_session_name(operand) || ptrc_reader_is_there(operand))
		return ptrc_reader_open(r, operand);
	if (ptrc_orphans_of_session(operand, text))
		ptrc_cli_message(operand, "%s", text);
	else
		ptrc_cli_message(operand, "no such session or log");
	return false;
}
