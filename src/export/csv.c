/* SPDX-License-Identifier: MIT */
/*
 * Comma-separated values (RFC 4180) in UTF-8: a line with the names of the columns, and a line for each
 * event. The columns are those that every event has, one for each name of a field in any layout, and two for data
 * that the columns of fields do not show in full.
 */
#include "config.h"
#include "src/export/format.h"

#include <string.h>

#include "src/text/csv.h"
#include "src/text/event_format.h"

/* The first columns. Each file starts with their names. */
static const char head[] = "time,ns,event,pid,tid,comm,thread_name";

struct csv {
	struct ptrc_time_format time;
	/* The number of different names of fields in all layouts. Each name is a column. */
	size_t count;
};

/* Puts a comma and a text of the log as a value. Returns false if bytes that are not UTF-8 were
 * replaced. */
static bool put_text(struct ptrc_buffer *b, const char *text, size_t size)
{
	ptrc_buffer_char(b, ',');
	return ptrc_csv_text(b, text, size);
}

/* Puts a column for each field. Returns whether these columns have every byte of the data. */
static bool put_fields(struct csv *c, struct ptrc_buffer *b, struct ptrc_view *view)
{
	const struct ptrc_decoded *d = view->layout ? ptrc_view_decode(view) : NULL;
	bool is_whole = d && d->error == PTRC_LAYOUT_FITS;

	for (size_t i = 0; i < c->count; i++) {
		const struct ptrc_value *v = d ? ptrc_layout_value(view->layout, d, (int)i) : NULL;

		ptrc_buffer_char(b, ',');
		if (v && v->kind != PTRC_VALUE_NONE)
			is_whole &= ptrc_csv_value(b, v);
	}
	return is_whole;
}

/* Puts the last two columns. "data" has data that is a text or JSON, and not made of fields. "data_hex" has all bytes
 * of the data, unless the other columns have them. */
static void put_data(struct ptrc_buffer *b, struct ptrc_view *view, bool is_whole)
{
	const struct ptrc_reader *r = view->reader;
	const struct ptrc_value *whole = NULL;
	size_t size = r->size;

	if (view->layout)
		whole = ptrc_layout_whole(view->layout, ptrc_view_decode(view));
	if (whole && whole->kind == PTRC_VALUE_JSON) {
		ptrc_buffer_char(b, ',');
		is_whole = ptrc_csv_value(b, whole);
	} else if (!view->layout && r->event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT) {
		size_t begin = b->used + 1;

		is_whole = true;
		ptrc_buffer_char(b, ',');
		ptrc_event_put_data(b, view);
		ptrc_csv_end(b, begin);
	} else if (!view->layout && ptrc_text_is_clean(r->data, &size)) {
		is_whole = put_text(b, (const char *)r->data, size);
	} else {
		ptrc_buffer_char(b, ',');
	}
	ptrc_buffer_char(b, ',');
	if (!is_whole)
		ptrc_buffer_hex_bytes(b, r->data, r->size);
}

static void put_known(struct ptrc_buffer *b, struct ptrc_view *view, enum ptrc_field_id id)
{
	struct ptrc_value v = ptrc_view_value(view, &(struct ptrc_field){.id = id});

	if (v.kind == PTRC_VALUE_TEXT)
		put_text(b, v.bytes, v.size);
	else
		ptrc_buffer_char(b, ',');
}

static void event(struct ptrc_export *x, const struct ptrc_export_event *e)
{
	struct csv *c = x->state;
	struct ptrc_buffer *b = &x->query->out;
	const struct posix_trace_event_info *info = &e->view->reader->event;
	const struct ptrc_reader_name *name =
		ptrc_reader_name(e->view->reader, info->posix_event_id);
	bool is_whole;

	ptrc_buffer_time(b, &c->time, &info->posix_timestamp);
	ptrc_buffer_char(b, ',');
	ptrc_buffer_ns(b, &c->time, &info->posix_timestamp);
	put_text(b, name->text, name->size);
	ptrc_buffer_char(b, ',');
	ptrc_buffer_i64(b, info->posix_pid);
	ptrc_buffer_char(b, ',');
	ptrc_buffer_i64(b, info->posix_tid);
	put_known(b, e->view, PTRC_FIELD_COMM);
	put_known(b, e->view, PTRC_FIELD_THREAD_NAME);
	ptrc_buffer_char(b, ',');
	ptrc_buffer_text(b, ptrc_reader_truncation(e->view->reader));
	ptrc_buffer_char(b, ',');
	ptrc_buffer_u64(b, e->view->reader->size);
	if (x->query->has_log)
		put_known(b, e->view, PTRC_FIELD_LOG);
	if (x->query->has_host)
		put_known(b, e->view, PTRC_FIELD_HOST);
	if (x->query->symbols) {
		const struct ptrc_symbol *s = ptrc_view_symbol(e->view);

		put_text(b, s->function ? s->function : "", s->function ? strlen(s->function) : 0);
		put_text(b, s->file ? s->file : "", s->file ? strlen(s->file) : 0);
		ptrc_buffer_char(b, ',');
		if (s->line)
			ptrc_buffer_i64(b, s->line);
	}
	is_whole = put_fields(c, b, e->view);
	put_data(b, e->view, is_whole);
	ptrc_buffer_text(b, "\r\n");
	ptrc_output_write_some(&x->query->out);
}

static void begin(struct ptrc_export *x)
{
	const struct ptrc_layouts *l = &x->query->layouts;
	struct csv *c = x->state;
	struct ptrc_buffer *b = &x->query->out;

	c->count = l->name_count;
	ptrc_buffer_text(b, head);
	ptrc_buffer_text(b, ",truncated,len");
	if (x->query->has_log)
		ptrc_buffer_text(b, ",log");
	if (x->query->has_host)
		ptrc_buffer_text(b, ",host");
	if (x->query->symbols)
		ptrc_buffer_text(b, ",function,file,line");
	for (size_t i = 0; i < l->name_count; i++) {
		ptrc_buffer_text(b, ",data.");
		ptrc_buffer_text(b, l->names[i]);
	}
	ptrc_buffer_text(b, ",data,data_hex\r\n");
}

const struct ptrc_export_format ptrc_export_csv = {
	.name = "csv",
	.kind = {.mode = 0600,
		 .signature = head,
		 /* The first 32 bytes of `head` are enough to recognise a file of this format. */
		 .signature_bytes = 32,
		 .noun = "an export to csv"},
	.state_size = sizeof(struct csv),
	.has_only_events = true,
	.begin = begin,
	.event = event,
};
