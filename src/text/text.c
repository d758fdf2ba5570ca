/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/text/text.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/cli.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/base/scope.h"

/* A name longer than this does not widen the column of names. */
enum { NAME_COLUMNS_MAX = 40 };

void ptrc_lines_add(struct ptrc_lines *l, int64_t ns, struct ptrc_buffer *text)
{
	struct ptrc_line *line = ptrc_cli_allocate(sizeof(*line) + text->used);

	*line = (struct ptrc_line){.ns = ns, .used = text->used};
	if (text->used)
		memcpy(line->text, text->bytes, text->used);
	text->used = 0;
	if (l->first)
		l->last->next = line;
	else
		l->first = line;
	l->last = line;
	l->count++;
	l->bytes += sizeof(*line) + line->used;
}

void ptrc_lines_keep(struct ptrc_lines *l, uint64_t max, int64_t ns, struct ptrc_buffer *text)
{
	if (l->count && l->count == max)
		ptrc_lines_drop(l);
	if (max)
		ptrc_lines_add(l, ns, text);
	text->used = 0;
}

void ptrc_lines_drop(struct ptrc_lines *l)
{
	struct ptrc_line *line = l->first;

	l->first = line->next;
	l->count--;
	l->bytes -= sizeof(*line) + line->used;
	free(line);
}

void ptrc_text_add_alone(struct ptrc_text *t, struct ptrc_buffer *b, struct ptrc_view *view)
{
	ptrc_columns_flush(&t->columns, &t->query->out);
	ptrc_text_add(t, b, view);
	ptrc_columns_flush(&t->columns, b);
}

/* Inserts the header at the offset in the output, if it was not written yet. */
static void put_header(struct ptrc_text *t, size_t offset)
{
	struct ptrc_buffer *out = &t->query->out;
	PTRC_SCOPED_BUFFER header = PTRC_BUFFER_INIT;
	char *at;

	if (!t->is_header_due)
		return;
	t->is_header_due = false;
	ptrc_event_put_header(&header, &t->format);
	ptrc_buffer_room(out, header.used);
	at = out->bytes + offset;
	memmove(at + header.used, at, out->used - offset);
	memcpy(at, header.bytes, header.used);
	out->used += header.used;
}

/* How many lines show_last() keeps. With --relative, the first line has a time relative to the event before it, so
 * one more event is needed. */
static uint64_t kept_count(const struct ptrc_text *t)
{
	return (t->query->last_count ? t->query->last_count : 1) + t->format.is_relative;
}

static void take(void *self, struct ptrc_source *s)
{
	struct ptrc_text *t = self;
	struct ptrc_query *q = t->query;
	size_t offset = q->out.used;

	q->shown_count++;
	if (t->is_counting)
		return;
	if (__builtin_expect(q->last_count == UINT64_MAX, 1)) {
		ptrc_text_add(t, &q->out, &s->view);
		put_header(t, offset);
		ptrc_output_write_some(&q->out);
		return;
	}
	ptrc_text_add_alone(t, &q->out, &s->view);
	ptrc_lines_keep(&t->last, kept_count(t), ptrc_source_ns(s), &q->out);
}

static void put_line(struct ptrc_text *t, const struct ptrc_line *line)
{
	struct ptrc_buffer *out = &t->query->out;
	size_t rest = line->since_before_at + line->since_before_size;

	if (!t->is_counting)
		put_header(t, out->used);
	ptrc_buffer_bytes(out, line->text, line->since_before_at);
	if (line->since_before_size)
		ptrc_event_put_since_before(out, &t->format, line->ns);
	ptrc_buffer_bytes(out, line->text + rest, line->used - rest);
}

void ptrc_text_put_lines(struct ptrc_text *t, struct ptrc_lines *lines, int64_t since_ns)
{
	struct ptrc_query *q = t->query;

	ptrc_columns_flush(&t->columns, &q->out);
	for (; lines->count; ptrc_lines_drop(lines)) {
		const struct ptrc_line *line = lines->first;

		if (line->ns < since_ns || q->shown_count >= q->first_count)
			continue;
		put_line(t, line);
		ptrc_output_write_some(&q->out);
		q->shown_count++;
	}
}

/* Shows the last events. For this, reads a part at the end of each log, and then larger and larger parts until
 * they have enough events since the start of the shortest part, or go back to --since. Returns false, after a
 * message, if a log cannot be read. */
static bool show_last(struct ptrc_text *t)
{
	struct ptrc_query *q = t->query;
	uint64_t count = kept_count(t);
	int64_t from_ns;

	do {
		while (t->last.count)
			ptrc_lines_drop(&t->last);
		t->format.has_last = false;
		if (!ptrc_query_select_last(q, count, &from_ns))
			return false;
		ptrc_query_run(q);
		count = count > UINT64_MAX / 4 ? UINT64_MAX : count * 4;
	} while (from_ns > q->select.span.first &&
		 (t->last.count < kept_count(t) || t->last.first->ns < from_ns));
	while (t->last.count > q->last_count)
		ptrc_lines_drop(&t->last);
	q->shown_count = 0;
	ptrc_text_put_lines(t, &t->last, INT64_MIN);
	return true;
}

/* Adds the number of events of the types that --event and --user select, as the log itself has counted them.
 * Returns false if the log has no such counts. */
static bool count_source(struct ptrc_query *q, struct ptrc_source *s)
{
	struct ptrc_reader *r = &s->reader;
	PTRC_SCOPED struct posixtrace_type_count *totals = ptrc_type_counts(r->trace);
	trace_event_set_t types;
	bool is_by_type = ptrc_select_get_types(&q->select, r, &types);

	if (!totals)
		return false;
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++) {
		if (!is_by_type || ptrc_is_in_set(&types, id))
			q->shown_count += totals[id].pt_events;
		r->read_count += totals[id].pt_events;
	}
	return true;
}

bool ptrc_text_count(struct ptrc_text *t)
{
	struct ptrc_query *q = t->query;
	bool is_counted = q->sink.self == t && t->is_counting && !q->is_verifying &&
			  !(q->is_strict && q->layouts.count) && ptrc_select_is_by_type(&q->select);

	for (size_t i = 0; i < q->source_count && is_counted; i++)
		is_counted = count_source(q, &q->sources[i]);
	if (is_counted)
		return true;
	q->shown_count = 0;
	for (size_t i = 0; i < q->source_count; i++)
		q->sources[i].reader.read_count = 0;
	return false;
}

bool ptrc_text_show(struct ptrc_text *t)
{
	struct ptrc_query *q = t->query;

	t->format.begin_ns = q->trace.first;
	return q->sink.self == t && q->last_count != UINT64_MAX ? show_last(t) : ptrc_query_run(q);
}

static void put_count(struct ptrc_text *t)
{
	struct ptrc_query *q = t->query;
	struct ptrc_json j = {&q->out, true};

	if (t->format.format == PTRC_FORMAT_JSON) {
		ptrc_json_open(&j, NULL, '{');
		ptrc_json_u64(&j, "count", q->shown_count);
		if (q->layouts.count)
			ptrc_misfits_json(&q->misfits, &j);
		if (q->select.where_count)
			ptrc_json_u64(&j, "undecided", ptrc_query_undecided(q));
		ptrc_json_close(&j, '}');
	} else {
		ptrc_buffer_u64(&q->out, q->shown_count);
	}
	ptrc_buffer_char(&q->out, '\n');
}

static void put_summary(struct ptrc_text *t)
{
	struct ptrc_query *q = t->query;
	struct ptrc_json j = {&q->out, true};

	if (t->format.format == PTRC_FORMAT_TEXT) {
		ptrc_buffer_format(&q->out, "%llu %s%s, %s", (unsigned long long)q->shown_count,
				   q->sink.noun ? q->sink.noun : "event",
				   q->shown_count == 1 ? "" : "s",
				   q->is_complete ? "complete" : "data incomplete");
		if (q->misfits.count)
			ptrc_buffer_format(&q->out, ", not fitting their layouts: %llu",
					   (unsigned long long)ptrc_misfits_count(&q->misfits));
		if (ptrc_query_undecided(q))
			ptrc_buffer_format(&q->out, ", undecided: %llu",
					   (unsigned long long)ptrc_query_undecided(q));
		ptrc_buffer_char(&q->out, '\n');
		return;
	}
	ptrc_json_open(&j, NULL, '{');
	ptrc_json_open(&j, "summary", '{');
	ptrc_json_u64(&j, "version", 1);
	ptrc_json_u64(&j, "shown", q->shown_count);
	ptrc_json_bool(&j, "complete", q->is_complete);
	if (q->sink.summarize)
		q->sink.summarize(q->sink.self, &j);
	ptrc_misfits_json(&q->misfits, &j);
	if (q->select.where_count)
		ptrc_json_u64(&j, "undecided", ptrc_query_undecided(q));
	if (q->hosts.count)
		ptrc_hosts_json(&q->hosts, &j);
	ptrc_query_sources_json(q, &j);
	ptrc_json_close(&j, '}');
	ptrc_json_close(&j, '}');
	ptrc_buffer_char(&q->out, '\n');
}

/* Looks up the fields that are members of the data again, now that the layouts of all sources are known. */
static void close_fields(struct ptrc_text *t)
{
	struct ptrc_cli_reason why;

	for (size_t i = 0; i < t->format.field_count; i++) {
		struct ptrc_field *field = &t->format.fields[i];

		if (field->id == PTRC_FIELD_MEMBER &&
		    !ptrc_field_find(t->format.field_names[i], &t->query->layouts, field, &why))
			ptrc_cli_usage("--fields", "%s", why.text);
	}
}

void ptrc_text_begin(struct ptrc_text *t)
{
	struct ptrc_query *q = t->query;
	int *name_width = &t->format.widths[PTRC_COLUMN_EVENT];

	if (!q->layouts.is_open)
		close_fields(t);
	for (size_t i = 0; i < q->source_count; i++) {
		size_t width = ptrc_reader_load_names(&q->sources[i].reader);

		if (width > (size_t)*name_width && width <= NAME_COLUMNS_MAX)
			*name_width = (int)width;
	}
	t->format.has_log = q->has_log;
	q->sink = (struct ptrc_sink){.self = t,
				     .event = take,
				     .fields = t->format.fields,
				     .field_count = t->format.field_count};
	/* CSV has a header even if there are no lines. It is written now because the threads that format events
	 * do not use this buffer. */
	if (t->format.format == PTRC_FORMAT_CSV && q->source_count) {
		put_header(t, q->out.used);
		ptrc_output_write(&q->out);
	}
}

enum ptrc_exit ptrc_text_end(struct ptrc_text *t, enum ptrc_exit status, bool is_read)
{
	struct ptrc_query *q = t->query;

	ptrc_columns_flush(&t->columns, &q->out);
	ptrc_columns_free(&t->columns);
	if (!ptrc_query_finish(q, is_read))
		status = PTRC_EXIT_FAILED;
	if (t->is_counting && !q->is_verifying && status == PTRC_EXIT_DONE)
		put_count(t);
	status = ptrc_query_tell(q, status, is_read);
	if (t->has_summary)
		put_summary(t);
	return status;
}
