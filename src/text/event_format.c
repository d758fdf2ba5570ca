/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/text/event_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/json.h"
#include "src/fields/when.h"
#include "src/text/csv.h"

/* Sequences that set the colours of a terminal: faint, bold, bold yellow, bold red. */
#define FAINT "\033[2m"
#define USER_EVENT "\033[1m"
#define SYSTEM_EVENT "\033[1;33m"
#define WARNING "\033[1;31m"
#define PLAIN "\033[0m"

/* A text longer than this does not widen its column. */
enum { TEXT_COLUMNS_MAX = 40 };

/* The data of system events: event sets, or a number (an int). This table has a row for each part of the data. */
static const struct part {
	trace_event_id_t type;
	/* The size of all of the event's data. */
	size_t size;
	const char *key;
	size_t offset;
	bool is_set;
} parts[] = {
	{POSIX_TRACE_START, sizeof(trace_event_set_t), "filter", 0, true},
	{POSIX_TRACE_FILTER, 2 * sizeof(trace_event_set_t), "old", 0, true},
	{POSIX_TRACE_FILTER, 2 * sizeof(trace_event_set_t), "new", sizeof(trace_event_set_t), true},
	{POSIX_TRACE_STOP, sizeof(int), "reason", 0, false},
	{POSIX_TRACE_ERROR, sizeof(int), "error", 0, false},
};

/* Returns the first row, from `part` on, of parts[] that is for the latest event's data; NULL: there is
 * none. */
static const struct part *find_part(const struct ptrc_reader *r, const struct part *part)
{
	for (; part < parts + sizeof(parts) / sizeof(*parts); part++)
		if (part->type == r->event.posix_event_id && part->size == r->size)
			return part;
	return NULL;
}

static int number_of(const struct ptrc_reader *r)
{
	int number;

	memcpy(&number, r->data, sizeof(number));
	return number;
}

/* Whether the type has a known name, and JSON can hold it byte for byte. */
static bool has_json_name(const struct ptrc_reader_name *name)
{
	return name->is_known && ptrc_text_is_utf8(name->text, name->size);
}

/* Puts the names of the types in the set as a JSON array. If some types have no known name, or one that is not
 * valid in JSON, their numbers follow in a second array, whose key is that of the first one with _ids appended. */
static void put_set_json(struct ptrc_json *j, struct ptrc_reader *r, const struct part *part)
{
	trace_event_set_t set;
	bool has_unknown = false;
	char key[16];

	memcpy(&set, r->data + part->offset, sizeof(set));
	ptrc_json_open(j, part->key, '[');
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++) {
		const struct ptrc_reader_name *name;

		if (!ptrc_is_in_set(&set, id))
			continue;
		name = ptrc_reader_name(r, id);
		if (name->is_known)
			ptrc_json_text(j, NULL, name->text);
		has_unknown |= !has_json_name(name);
	}
	ptrc_json_close(j, ']');
	if (!has_unknown)
		return;
	stpcpy(stpcpy(key, part->key), "_ids");
	ptrc_json_open(j, key, '[');
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
		if (ptrc_is_in_set(&set, id) && !has_json_name(ptrc_reader_name(r, id)))
			ptrc_json_u64(j, NULL, id);
	ptrc_json_close(j, ']');
}

/* Appends the names of the types in the set, separated by commas. Consecutive types without a known name become
 * #FIRST-#LAST, their numbers. */
static void put_set_text(struct ptrc_buffer *b, struct ptrc_reader *r, const struct part *part)
{
	trace_event_set_t set;
	const char *separator = "";

	memcpy(&set, r->data + part->offset, sizeof(set));
	ptrc_buffer_text(b, part->key);
	ptrc_buffer_char(b, '=');
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++) {
		const struct ptrc_reader_name *name;
		trace_event_id_t last = id;

		if (!ptrc_is_in_set(&set, id))
			continue;
		name = ptrc_reader_name(r, id);
		ptrc_buffer_text(b, separator);
		separator = ",";
		if (name->is_known) {
			ptrc_text_put(b, name->text, name->size);
			continue;
		}
		while (last + 1 < PTRC_READER_IDS && ptrc_is_in_set(&set, last + 1) &&
		       !ptrc_reader_name(r, last + 1)->is_known)
			last++;
		ptrc_buffer_format(b, last > id ? "#%u-#%u" : "#%u", id, last);
		id = last;
	}
	if (!*separator)
		ptrc_buffer_text(b, "none");
}

static const char *const decode_errors[] = {
	[PTRC_LAYOUT_SHORT] = "short",
	[PTRC_LAYOUT_REST] = "rest",
	[PTRC_LAYOUT_NOT_JSON] = "json",
};

static void put_decoded_json(struct ptrc_json *j, struct ptrc_view *view, bool has_hex)
{
	const struct ptrc_decoded *d = ptrc_view_decode(view);

	ptrc_layout_json(j, view->layout, d);
	if (d->error == PTRC_LAYOUT_FITS)
		return;
	if (!has_hex)
		ptrc_json_hex(j, "data", view->reader->data, view->reader->size);
	ptrc_json_text(j, "decode_error", decode_errors[d->error]);
}

/* Appends the key of a JSON member. `key` starts with a comma, which is left out before the first member. */
static inline void put_data_key(struct ptrc_json *j, const char *key)
{
	ptrc_buffer_text(j->buffer, key + j->is_first);
	j->is_first = false;
}

/* Puts the data as JSON members. has_hex: the line already has the member data_hex. */
static void put_data_json(struct ptrc_json *j, struct ptrc_view *view, bool has_hex)
{
	struct ptrc_reader *r = view->reader;
	size_t size = r->size;

	if (__builtin_expect(view->layout != NULL, 0)) {
		put_decoded_json(j, view, has_hex);
		return;
	}
	if (__builtin_expect(r->event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT, 0)) {
		const struct part *part = find_part(r, parts);

		for (const struct part *p = part; p; p = find_part(r, p + 1))
			if (p->is_set)
				put_set_json(j, r, p);
			else
				ptrc_json_i64(j, p->key, number_of(r));
		if (part)
			return;
	}
	if (ptrc_text_is_clean(r->data, &size)) {
		put_data_key(j, ",\"data\":");
		ptrc_text_json(j->buffer, (const char *)r->data, size);
	} else if (!has_hex) {
		put_data_key(j, ",\"data_hex\":\"");
		ptrc_buffer_hex_bytes(j->buffer, r->data, r->size);
		ptrc_buffer_char(j->buffer, '"');
	}
}

void ptrc_event_put_data_json(struct ptrc_json *j, struct ptrc_view *view)
{
	put_data_json(j, view, false);
}

/* Puts the number of events that cannot be read. The latest event stands for a damaged place of the
 * log. */
static void put_damage_json(struct ptrc_json *j, const struct ptrc_reader *r)
{
	ptrc_json_key(j, "unreadable_events");
	if (r->gap.is_uncounted)
		ptrc_buffer_text(j->buffer, "null");
	else
		ptrc_buffer_u64(j->buffer, r->gap.events);
}

bool ptrc_event_has_members(const struct ptrc_reader *r)
{
	return ptrc_reader_is_at_damage(r) ||
	       (ptrc_is_system_type(r->event.posix_event_id) && find_part(r, parts));
}

void ptrc_event_put_members_json(struct ptrc_json *j, struct ptrc_view *view)
{
	put_data_json(j, view, false);
	if (ptrc_reader_is_at_damage(view->reader))
		put_damage_json(j, view->reader);
}

static void put_hex_text(struct ptrc_buffer *b, const struct ptrc_reader *r)
{
	ptrc_buffer_text(b, "0x");
	ptrc_buffer_hex_bytes(b, r->data, r->size);
}

/* Appends the names of the functions in which the places are, if any is known: <main>, or <read,main> for an
 * array. */
static void put_place_text(struct ptrc_buffer *b, struct ptrc_view *view,
			   const struct ptrc_layout_field *f, const struct ptrc_value *v)
{
	size_t begin = b->used;
	bool is_known = false;
	struct ptrc_value item = *v;

	for (uint64_t i = 0; i < (f->count ? ptrc_value_count(v) : 1); i++) {
		const struct ptrc_symbol *s;

		if (f->count)
			ptrc_value_element(v, i, &item);
		s = ptrc_view_symbol_of(view, f, i, &item);
		ptrc_buffer_char(b, i ? ',' : '<');
		if (s->function)
			ptrc_text_put(b, s->function, strlen(s->function));
		else
			ptrc_buffer_char(b, '-');
		is_known |= s->function != NULL;
	}
	ptrc_buffer_char(b, '>');
	if (!is_known)
		b->used = begin;
}

static void put_decoded_text(struct ptrc_buffer *b, struct ptrc_view *view)
{
	const struct ptrc_decoded *d = ptrc_view_decode(view);
	const struct ptrc_layout_fields *m = view->layout->model;
	size_t begin = b->used;

	for (size_t i = 0; i < m->count; i++) {
		if (d->values[i].kind == PTRC_VALUE_NONE)
			continue;
		if (b->used > begin)
			ptrc_buffer_char(b, ' ');
		ptrc_buffer_text(b, m->fields[i].name);
		if (*m->fields[i].name)
			ptrc_buffer_char(b, '=');
		ptrc_value_text(b, &d->values[i], true);
		if (view->symbols && ptrc_layout_is_code(m->fields[i].kind))
			put_place_text(b, view, &m->fields[i], &d->values[i]);
	}
	if (d->error == PTRC_LAYOUT_FITS)
		return;
	ptrc_buffer_text(b, b->used > begin ? " decode_error=" : "decode_error=");
	ptrc_buffer_text(b, decode_errors[d->error]);
	if (view->reader->size) {
		ptrc_buffer_text(b, " data=");
		put_hex_text(b, view->reader);
	}
}

void ptrc_event_put_data(struct ptrc_buffer *b, struct ptrc_view *view)
{
	struct ptrc_reader *r = view->reader;
	const struct part *part = find_part(r, parts);
	size_t size = r->size;

	if (view->layout) {
		put_decoded_text(b, view);
		return;
	}
	for (const struct part *p = part; p; p = find_part(r, p + 1)) {
		if (p != part)
			ptrc_buffer_char(b, ' ');
		if (p->is_set)
			put_set_text(b, r, p);
		else
			ptrc_buffer_format(b, "%s=%d", p->key, number_of(r));
	}
	if (part || !size)
		return;
	if (ptrc_text_is_clean(r->data, &size))
		ptrc_text_quote(b, (const char *)r->data, size);
	else
		put_hex_text(b, r);
}

/* The number of columns that the text after `begin` takes on a terminal, which is assumed to be one for each
 * UTF-8 character. */
static int columns_of(const struct ptrc_buffer *b, size_t begin)
{
	int columns = 0;

	for (size_t i = begin; i < b->used; i++)
		columns += ((unsigned char)b->bytes[i] & 0xc0) != 0x80;
	return columns;
}

static void paint(struct ptrc_buffer *b, const struct ptrc_event_format *f, const char *colour)
{
	if (f->is_coloured)
		ptrc_buffer_text(b, colour);
}

void ptrc_event_put_name(struct ptrc_buffer *b, const struct ptrc_event_format *f,
			 const struct ptrc_buffer *name)
{
	paint(b, f, USER_EVENT);
	ptrc_buffer_bytes(b, name->bytes, name->used);
	paint(b, f, PLAIN);
}

/* The name of a source or an event type, as lines show it. */
struct label {
	/* The width in columns; used for text only. */
	int width;
	size_t size;
	char text[];
};

/* Returns the text of the buffer as a label, and frees the buffer. */
static struct label *keep_label(struct ptrc_buffer *b, int width)
{
	struct label *label = ptrc_cli_allocate(sizeof(*label) + b->used);

	label->width = width;
	label->size = b->used;
	if (b->used)
		memcpy(label->text, b->bytes, b->used);
	ptrc_buffer_free(b);
	return label;
}

static void put_type_json(struct ptrc_json *j, const struct ptrc_type *type, trace_event_id_t id)
{
	ptrc_json_bytes(j, "event", type->name.text, type->name.size);
	ptrc_json_u64(j, "type_id", id);
}

static const struct label *type_label(const struct ptrc_event_format *f, struct ptrc_reader *r)
{
	trace_event_id_t id = r->event.posix_event_id;
	struct ptrc_type *type = ptrc_reader_type(r, id);
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	struct ptrc_json j = {&b, false};
	int width = 0;
	size_t begin;

	if (__builtin_expect(type->label != NULL, 1))
		return type->label;
	if (f->format == PTRC_FORMAT_TEXT) {
		paint(&b, f, id < POSIX_TRACE_UNNAMED_USEREVENT ? SYSTEM_EVENT : USER_EVENT);
		begin = b.used;
		ptrc_text_put(&b, type->name.text, type->name.size);
		width = columns_of(&b, begin);
		paint(&b, f, PLAIN);
	} else {
		put_type_json(&j, type, id);
	}
	return type->label = keep_label(&b, width);
}

static void put_log_json(struct ptrc_json *j, const struct ptrc_reader *r)
{
	ptrc_json_bytes(j, "log", r->path, strlen(r->path));
	if (r->label)
		ptrc_json_bytes(j, "host", r->label, strlen(r->label));
}

static const struct label *log_label(const struct ptrc_event_format *f, struct ptrc_reader *r)
{
	const char *name = ptrc_reader_shown_name(r);
	struct ptrc_buffer b = PTRC_BUFFER_INIT;
	struct ptrc_json j = {&b, false};
	int width = 0;

	if (r->label_in_lines)
		return r->label_in_lines;
	if (f->format == PTRC_FORMAT_TEXT) {
		ptrc_text_put(&b, name, strlen(name));
		width = columns_of(&b, 0);
	} else {
		put_log_json(&j, r);
	}
	return r->label_in_lines = keep_label(&b, width);
}

void ptrc_event_put_type_json(struct ptrc_json *j, const struct ptrc_event_format *f,
			      struct ptrc_reader *r)
{
	trace_event_id_t id = r->event.posix_event_id;

	put_type_json(j, ptrc_reader_type(r, id), id);
	if (f->has_log)
		put_log_json(j, r);
}

static void make_origin(struct ptrc_event_format *f, const struct label *label,
			const struct ptrc_reader *r)
{
	const struct posix_trace_event_info *e = &r->event;
	struct ptrc_buffer *origin = &f->origin;

	f->origin_label = label;
	f->origin_pid = e->posix_pid;
	f->origin_tid = e->posix_tid;
	f->origin_thread = e->posix_thread_id;
	f->origin_address = e->posix_prog_address;
	f->origin_truncation = e->posix_truncation_status;
	origin->used = 0;
	ptrc_buffer_bytes(origin, label->text, label->size);
	ptrc_buffer_text(origin, ",\"pid\":");
	ptrc_buffer_i64(origin, e->posix_pid);
	ptrc_buffer_text(origin, ",\"tid\":");
	ptrc_buffer_i64(origin, e->posix_tid);
	ptrc_buffer_text(origin, ",\"thread\":\"");
	ptrc_buffer_hex(origin, (uint64_t)e->posix_thread_id);
	ptrc_buffer_text(origin, "\",\"address\":\"");
	ptrc_buffer_hex(origin, (uintptr_t)e->posix_prog_address);
	ptrc_buffer_text(origin, "\",\"truncated\":\"");
	ptrc_buffer_text(origin, ptrc_reader_truncation(r));
	ptrc_buffer_text(origin, "\",\"len\":");
}

static bool has_origin(const struct ptrc_event_format *f, const struct label *label,
		       const struct posix_trace_event_info *e)
{
	return f->origin_label == label && f->origin_pid == e->posix_pid &&
	       f->origin_tid == e->posix_tid && f->origin_thread == e->posix_thread_id &&
	       f->origin_address == e->posix_prog_address &&
	       f->origin_truncation == e->posix_truncation_status;
}

/* Puts the JSON members that every event has, after making space for all of them at once. */
static void put_head_json(struct ptrc_buffer *b, struct ptrc_event_format *f,
			  const struct label *label, const struct ptrc_reader *r)
{
	static const char time[] = "{\"time\":\"";
	static const char ns[] = "\",\"ns\":";
	const struct posix_trace_event_info *e = &r->event;
	char *p;

	if (__builtin_expect(!has_origin(f, label, e), 0))
		make_origin(f, label, r);
	p = ptrc_buffer_room(b, sizeof(time) + sizeof(ns) + 2 * PTRC_TIME_BYTES + f->origin.used +
					PTRC_U64_BYTES);
	p = stpcpy(p, time);
	p = ptrc_write_time(p, &f->time, &e->posix_timestamp);
	p = stpcpy(p, ns);
	p = ptrc_write_ns(p, &f->time, &e->posix_timestamp);
	memcpy(p, f->origin.bytes, f->origin.used);
	p = ptrc_write_u64(p + f->origin.used, r->size);
	b->used = (size_t)(p - b->bytes);
}

static void put_source_json(struct ptrc_json *j, const struct ptrc_symbol *s)
{
	if (s->function)
		ptrc_json_bytes(j, "function", s->function, strlen(s->function));
	if (s->file)
		ptrc_json_bytes(j, "file", s->file, strlen(s->file));
	if (s->line)
		ptrc_json_i64(j, "line", s->line);
}

/* Puts a JSON member with what is known of a place in code: an object with function, file and line, or, for
 * an array of places, an array of such objects. */
static void put_place_json(struct ptrc_json *j, struct ptrc_view *view,
			   const struct ptrc_layout_field *f, const struct ptrc_value *v)
{
	struct ptrc_value item = *v;

	if (f->count)
		ptrc_json_open(j, f->name, '[');
	for (uint64_t i = 0; i < (f->count ? ptrc_value_count(v) : 1); i++) {
		if (f->count)
			ptrc_value_element(v, i, &item);
		ptrc_json_open(j, f->count ? NULL : f->name, '{');
		put_source_json(j, ptrc_view_symbol_of(view, f, i, &item));
		ptrc_json_close(j, '}');
	}
	if (f->count)
		ptrc_json_close(j, ']');
}

void ptrc_event_put_symbol_json(struct ptrc_json *j, struct ptrc_view *view)
{
	const struct ptrc_layout_field *f;
	const struct ptrc_value *v;

	put_source_json(j, ptrc_view_symbol(view));
	if (!view->layout || !view->layout->has_code)
		return;
	v = ptrc_view_decode(view)->values;
	ptrc_json_open(j, "symbols", '{');
	for (size_t i = 0; (f = ptrc_layout_field(view->layout, i)); i++)
		if (ptrc_layout_is_code(f->kind) && v[i].kind != PTRC_VALUE_NONE)
			put_place_json(j, view, f, &v[i]);
	ptrc_json_close(j, '}');
}

/* Appends an event as a line of JSON. docs/json-schema.md has the members and their order. */
static void put_json(struct ptrc_buffer *b, struct ptrc_event_format *f, struct ptrc_view *view)
{
	struct ptrc_reader *r = view->reader;
	struct ptrc_json j = {b, false};
	const struct label *log;

	put_head_json(b, f, type_label(f, r), r);
	put_data_json(&j, view, false);
	if (__builtin_expect(f->has_symbols, 0))
		ptrc_event_put_symbol_json(&j, view);
	if (__builtin_expect(ptrc_reader_is_at_damage(r), 0))
		put_damage_json(&j, r);
	if (f->has_log) {
		log = log_label(f, r);
		ptrc_buffer_bytes(b, log->text, log->size);
	}
	ptrc_buffer_text(b, "}\n");
}

static void widen(int *width, size_t used)
{
	if (*width < (int)used)
		*width = (int)used;
}

/* Appends blanks to a column that has `used` characters of text, up to the greatest width that the column has had so
 * far. */
static void end_column(struct ptrc_buffer *b, int used, int *width)
{
	widen(width, (size_t)used);
	ptrc_buffer_blanks(b, *width - used);
}

/* Right-aligns the ASCII text after `begin` in its column. */
static void align_right(struct ptrc_buffer *b, size_t begin, int *width)
{
	widen(width, b->used - begin);
	ptrc_buffer_pad(b, begin, (size_t)*width, true);
}

static void put_number_right(struct ptrc_buffer *b, int64_t v, int *width)
{
	size_t begin = b->used;

	ptrc_buffer_i64(b, v);
	align_right(b, begin, width);
}

static void put_span_right(struct ptrc_buffer *b, int64_t ns, int *width)
{
	size_t begin = b->used;

	ptrc_buffer_span(b, ns);
	align_right(b, begin, width);
}

void ptrc_event_put_since_before(struct ptrc_buffer *b, struct ptrc_event_format *f, int64_t ns)
{
	put_span_right(b, f->has_last ? ptrc_when_subtract(ns, f->last_ns) : 0,
		       &f->since_before_width);
	f->last_ns = ns;
	f->has_last = true;
}

void ptrc_event_put_time(struct ptrc_buffer *b, struct ptrc_event_format *f,
			 const struct ptrc_reader *r)
{
	paint(b, f, FAINT);
	if (f->is_relative) {
		int64_t ns = ptrc_when_ns(&r->event.posix_timestamp);

		put_span_right(b, ptrc_when_subtract(ns, f->begin_ns), &f->since_first_width);
		ptrc_buffer_char(b, ' ');
		f->since_before_at = b->used;
		ptrc_event_put_since_before(b, f, ns);
	} else {
		ptrc_buffer_time(b, &f->time, &r->event.posix_timestamp);
	}
	paint(b, f, PLAIN);
}

/* Appends the place in the source code as "function (file:line)", with the file's name only, or "-" if nothing is
 * known. */
void ptrc_event_put_source(struct ptrc_buffer *b, struct ptrc_view *view)
{
	const struct ptrc_symbol *s = ptrc_view_symbol(view);
	const char *file = s->file ? basename(s->file) : NULL;

	if (s->function)
		ptrc_text_put(b, s->function, strlen(s->function));
	if (s->function && file)
		ptrc_buffer_char(b, ' ');
	if (file) {
		ptrc_buffer_char(b, '(');
		ptrc_text_put(b, file, strlen(file));
		if (s->line)
			ptrc_buffer_format(b, ":%d", s->line);
		ptrc_buffer_char(b, ')');
	}
	if (!s->function && !file)
		ptrc_buffer_char(b, '-');
}

static void put_text(struct ptrc_buffer *b, struct ptrc_event_format *f, struct ptrc_view *view)
{
	struct ptrc_reader *r = view->reader;
	const struct label *label = type_label(f, r);
	bool is_cut = r->event.posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED;
	bool is_damage = ptrc_reader_is_at_damage(r);
	size_t begin;
	int used;
	int width = f->widths[PTRC_COLUMN_EVENT];
	/* The width of the last column that precedes the data. */
	int *last_width = &f->widths[PTRC_COLUMN_ADDRESS];

	ptrc_event_put_time(b, f, r);
	ptrc_buffer_char(b, ' ');
	if (f->has_log) {
		const struct label *log = log_label(f, r);

		ptrc_buffer_bytes(b, log->text, log->size);
		end_column(b, log->width, &f->widths[PTRC_COLUMN_LOG]);
		ptrc_buffer_char(b, ' ');
	}
	put_number_right(b, r->event.posix_pid, &f->widths[PTRC_COLUMN_PID]);
	ptrc_buffer_char(b, ' ');
	put_number_right(b, r->event.posix_tid, &f->widths[PTRC_COLUMN_TID]);
	ptrc_buffer_char(b, ' ');
	ptrc_buffer_bytes(b, label->text, label->size);
	end_column(b, label->width, &width);
	ptrc_buffer_char(b, ' ');
	paint(b, f, FAINT);
	begin = b->used;
	ptrc_buffer_hex(b, (uintptr_t)r->event.posix_prog_address);
	used = (int)(b->used - begin);
	if (f->has_symbols) {
		end_column(b, used, last_width);
		ptrc_buffer_char(b, ' ');
		begin = b->used;
		ptrc_event_put_source(b, view);
		used = columns_of(b, begin);
		last_width = &f->widths[PTRC_COLUMN_SOURCE];
		/* A long name must not widen the column in all following lines. */
		if (used > TEXT_COLUMNS_MAX && used > *last_width) {
			width = used;
			last_width = &width;
		}
	}
	paint(b, f, PLAIN);
	if (r->size || is_cut || view->layout || is_damage) {
		end_column(b, used, last_width);
		ptrc_buffer_char(b, ' ');
		begin = b->used;
		ptrc_event_put_data(b, view);
		if (is_damage && r->gap.is_uncounted)
			ptrc_buffer_text(b, "unreadable_events=unknown");
		else if (is_damage)
			ptrc_buffer_format(b, "unreadable_events=%" PRIu64, r->gap.events);
		if (b->used == begin)
			b->used--;
	}
	if (is_cut) {
		paint(b, f, WARNING);
		ptrc_buffer_text(b, " (cut)");
		paint(b, f, PLAIN);
	}
	ptrc_buffer_char(b, '\n');
}

/* ---- the fields of --fields ---- */

/* The JSON object in which a field is: that of the event (for a pair, of the last event), that of the first event
 * of a pair, or that of the pair itself. */
enum whose { OF_EVENT, OF_BEGIN, OF_PAIR };

static enum whose whose(const struct ptrc_field *f)
{
	if (f->id == PTRC_FIELD_PAIR || f->id == PTRC_FIELD_DURATION)
		return OF_PAIR;
	if (!f->is_of_begin)
		return OF_EVENT;
	return f->id == PTRC_FIELD_TIME || f->id == PTRC_FIELD_NS ? OF_PAIR : OF_BEGIN;
}

static bool has_field(const struct ptrc_event_format *f, enum whose w, enum ptrc_field_id id)
{
	for (size_t i = 0; i < f->field_count; i++)
		if (f->fields[i].id == id && whose(&f->fields[i]) == w)
			return true;
	return false;
}

/* Puts all fields data.NAME as one JSON object, unless the field data, which contains them, is shown, too. */
static void put_members_json(struct ptrc_json *j, const struct ptrc_event_format *f, enum whose w,
			     struct ptrc_view *view)
{
	bool is_open = false;

	if (has_field(f, w, PTRC_FIELD_DATA))
		return;
	for (size_t i = 0; i < f->field_count; i++) {
		struct ptrc_value v;

		if (f->fields[i].id != PTRC_FIELD_MEMBER || whose(&f->fields[i]) != w)
			continue;
		v = ptrc_view_value(view, &f->fields[i]);
		if (v.kind == PTRC_VALUE_NONE)
			continue;
		if (!is_open)
			ptrc_json_open(j, "data", '{');
		is_open = true;
		ptrc_value_json(j, f->fields[i].text, &v);
	}
	if (is_open)
		ptrc_json_close(j, '}');
}

/* The key of a field that JSON and CSV show as a number of nanoseconds; NULL for other fields. */
static const char *ns_key_of(enum ptrc_field_id id)
{
	switch (id) {
	case PTRC_FIELD_GAP:
		return "gap_ns";
	case PTRC_FIELD_BOUND:
		return "bound_ns";
	case PTRC_FIELD_DURATION:
		return "duration_ns";
	default:
		return NULL;
	}
}

/* The view from which a field is taken: `view`, or, for a field of the first event of a pair, the view of that event.
 * The event of `view` then ends the pair. */
static struct ptrc_view *view_of(const struct ptrc_field *f, struct ptrc_view *view)
{
	return f->is_of_begin ? view->begin : view;
}

static void put_object_json(struct ptrc_json *j, struct ptrc_event_format *f, enum whose w,
			    struct ptrc_view *view)
{
	bool has_members = false;

	for (size_t i = 0; i < f->field_count; i++) {
		struct ptrc_view *own = view_of(&f->fields[i], view);
		enum ptrc_field_id id = f->fields[i].id;
		struct ptrc_value v;

		if (whose(&f->fields[i]) != w)
			continue;
		switch (id) {
		case PTRC_FIELD_TIME:
			ptrc_json_key(j, ptrc_field_name(id));
			ptrc_buffer_char(j->buffer, '"');
			ptrc_buffer_time(j->buffer, &f->time, &own->reader->event.posix_timestamp);
			ptrc_buffer_char(j->buffer, '"');
			break;
		case PTRC_FIELD_NS:
			ptrc_json_key(j, ptrc_field_name(id));
			ptrc_buffer_ns(j->buffer, &f->time, &own->reader->event.posix_timestamp);
			break;
		case PTRC_FIELD_DATA:
			put_data_json(j, own, has_field(f, w, PTRC_FIELD_DATA_HEX));
			break;
		case PTRC_FIELD_MEMBER:
			if (!has_members)
				put_members_json(j, f, w, view);
			has_members = true;
			break;
		default:
			/* If the field data is shown, too, it has the members reason and error already. */
			if ((id == PTRC_FIELD_REASON || id == PTRC_FIELD_ERROR) &&
			    has_field(f, w, PTRC_FIELD_DATA))
				break;
			v = ptrc_view_value(view, &f->fields[i]);
			ptrc_value_json(j, ns_key_of(id) ? ns_key_of(id) : ptrc_field_name(id), &v);
			break;
		}
	}
}

static void put_fields_json(struct ptrc_buffer *b, struct ptrc_event_format *f,
			    struct ptrc_view *view)
{
	static const struct {
		enum whose whose;
		const char *key;
	} sides[] = {{OF_BEGIN, "begin"}, {OF_EVENT, "end"}};
	struct ptrc_json j = {b, true};

	ptrc_json_open(&j, NULL, '{');
	put_object_json(&j, f, view->begin ? OF_PAIR : OF_EVENT, view);
	for (size_t i = 0; view->begin && i < 2; i++) {
		bool has_any = false;

		for (size_t k = 0; k < f->field_count; k++)
			has_any |= whose(&f->fields[k]) == sides[i].whose;
		if (!has_any)
			continue;
		ptrc_json_open(&j, sides[i].key, '{');
		put_object_json(&j, f, sides[i].whose, view);
		ptrc_json_close(&j, '}');
	}
	ptrc_json_close(&j, '}');
	ptrc_buffer_char(b, '\n');
}

/* Appends the data as one value of CSV: as text, as the fields of its layout, or as hexadecimal digits. */
static void put_data_csv(struct ptrc_buffer *b, struct ptrc_view *view)
{
	const struct ptrc_reader *r = view->reader;
	size_t begin = b->used, size = r->size;
	const struct ptrc_value *whole =
		view->layout ? ptrc_layout_whole(view->layout, ptrc_view_decode(view)) : NULL;

	if (whole && whole->kind != PTRC_VALUE_NONE) {
		ptrc_csv_value(b, whole);
		return;
	}
	if (!view->layout && !find_part(r, parts) && ptrc_text_is_clean(r->data, &size))
		ptrc_buffer_bytes(b, r->data, size);
	else
		ptrc_event_put_data(b, view);
	ptrc_csv_end(b, begin);
}

static void put_fields_csv(struct ptrc_buffer *b, struct ptrc_event_format *f,
			   struct ptrc_view *view)
{
	for (size_t i = 0; i < f->field_count; i++) {
		struct ptrc_view *own = view_of(&f->fields[i], view);
		struct ptrc_value v;

		if (i)
			ptrc_buffer_char(b, ',');
		switch (f->fields[i].id) {
		case PTRC_FIELD_TIME:
			ptrc_buffer_time(b, &f->time, &own->reader->event.posix_timestamp);
			break;
		case PTRC_FIELD_NS:
			ptrc_buffer_ns(b, &f->time, &own->reader->event.posix_timestamp);
			break;
		case PTRC_FIELD_DATA:
			put_data_csv(b, own);
			break;
		case PTRC_FIELD_DATA_HEX:
			ptrc_buffer_hex_bytes(b, own->reader->data, own->reader->size);
			break;
		default:
			v = ptrc_view_value(view, &f->fields[i]);
			ptrc_csv_value(b, &v);
			break;
		}
	}
	ptrc_buffer_text(b, "\r\n");
}

/* Appends a field as text. Returns how many columns it takes on a terminal. */
static int put_field_text(struct ptrc_buffer *b, struct ptrc_event_format *f,
			  const struct ptrc_field *field, struct ptrc_view *view)
{
	struct ptrc_reader *r = view_of(field, view)->reader;
	const struct label *label;
	struct ptrc_value v;
	size_t begin = b->used;

	switch (field->id) {
	case PTRC_FIELD_TIME:
		ptrc_event_put_time(b, f, r);
		/* All times have the same width, so no blanks need to follow, and 0 is returned as the width. */
		return 0;
	case PTRC_FIELD_EVENT:
		label = type_label(f, r);
		ptrc_buffer_bytes(b, label->text, label->size);
		return label->width;
	case PTRC_FIELD_NS:
		ptrc_buffer_ns(b, &f->time, &r->event.posix_timestamp);
		break;
	case PTRC_FIELD_DATA:
		ptrc_event_put_data(b, view_of(field, view));
		break;
	default:
		v = ptrc_view_value(view, field);
		if (v.kind == PTRC_VALUE_NONE)
			break;
		if (field->id == PTRC_FIELD_GAP)
			ptrc_buffer_span(b, v.i);
		else if (field->id == PTRC_FIELD_DURATION || field->id == PTRC_FIELD_BOUND)
			ptrc_buffer_duration(b, v.u, false);
		else if (field->id == PTRC_FIELD_LOG || field->id == PTRC_FIELD_PAIR)
			ptrc_text_put(b, v.bytes, v.size);
		else
			ptrc_value_text(b, &v, true);
		break;
	}
	if (b->used == begin)
		ptrc_buffer_char(b, '-');
	return columns_of(b, begin);
}

static void put_fields_text(struct ptrc_buffer *b, struct ptrc_event_format *f,
			    struct ptrc_view *view)
{
	for (size_t i = 0; i < f->field_count; i++) {
		const struct ptrc_field *field = &f->fields[i];
		bool is_number = ptrc_field_is_number(field);
		bool is_last = i + 1 == f->field_count;
		int *width = field->id == PTRC_FIELD_EVENT ? &f->widths[PTRC_COLUMN_EVENT]
							   : &f->field_widths[i];
		size_t begin = b->used;
		int used = put_field_text(b, f, field, view);

		if (used > *width && used <= TEXT_COLUMNS_MAX)
			*width = used;
		if (is_number && field->id != PTRC_FIELD_TIME)
			align_right(b, begin, width);
		else if (!is_last)
			ptrc_buffer_blanks(b, *width - used);
		ptrc_buffer_char(b, is_last ? '\n' : ' ');
	}
}

bool ptrc_event_fields(struct ptrc_event_format *f, const char *list,
		       const struct ptrc_layouts *layouts, struct ptrc_cli_reason *why)
{
	for (;;) {
		char name[100];
		struct ptrc_field field;
		size_t n = strcspn(list += strspn(list, " "), ",");
		size_t used = n;

		while (used && list[used - 1] == ' ')
			used--;
		snprintf(name, sizeof(name), "%.*s", used < sizeof(name) ? (int)used : 99, list);
		if (!ptrc_field_find(name, layouts, &field, why))
			return false;
		for (size_t i = 0; i < f->field_count; i++)
			if (f->fields[i].id == field.id &&
			    f->fields[i].is_of_begin == field.is_of_begin &&
			    (field.id != PTRC_FIELD_MEMBER ||
			     !strcmp(f->fields[i].text, field.text)))
				return strcmp(f->field_names[i], name)
					       ? ptrc_cli_because(why,
								  "'%s' is the same field as '%s'",
								  name, f->field_names[i])
					       : ptrc_cli_because(why, "'%s' is given twice", name);
		f->field_names = ptrc_cli_grow(f->field_names, f->field_count, sizeof(char *));
		f->field_names[f->field_count] = ptrc_cli_copy(name);
		*ptrc_append(f->fields, f->field_count) = field;
		if (!list[n])
			break;
		list += n + 1;
	}
	free(f->field_widths);
	f->field_widths = ptrc_cli_allocate(f->field_count * sizeof(*f->field_widths));
	return true;
}

/* ---- the header ---- */

static const char since_first[] = "since_first";
static const char since_before[] = "since_before";

static const struct {
	const char *name;
	bool is_right;
} columns[PTRC_COLUMNS] = {
	[PTRC_COLUMN_LOG] = {"log", false},	    [PTRC_COLUMN_PID] = {"pid", true},
	[PTRC_COLUMN_TID] = {"tid", true},	    [PTRC_COLUMN_EVENT] = {"event", false},
	[PTRC_COLUMN_ADDRESS] = {"address", false}, [PTRC_COLUMN_SOURCE] = {"source", false},
};

void ptrc_event_widen(struct ptrc_event_format *f)
{
	widen(&f->since_first_width, strlen(since_first));
	widen(&f->since_before_width, strlen(since_before));
	for (size_t i = 0; i < PTRC_COLUMNS; i++)
		widen(&f->widths[i], strlen(columns[i].name));
	for (size_t i = 0; i < f->field_count; i++)
		if (f->fields[i].id != PTRC_FIELD_TIME)
			widen(&f->field_widths[i], strlen(f->field_names[i]));
}

static void put_name(struct ptrc_buffer *b, const char *name, int width, bool is_right)
{
	ptrc_buffer_format(b, is_right ? "%*s " : "%-*s ", width, name);
}

static int time_columns(const struct ptrc_event_format *f)
{
	return f->time.is_local ? PTRC_LOCAL_TIME_COLUMNS : PTRC_UTC_TIME_COLUMNS;
}

void ptrc_event_put_time_name(struct ptrc_buffer *b, const struct ptrc_event_format *f)
{
	if (f->is_relative) {
		put_name(b, since_first, f->since_first_width, true);
		put_name(b, since_before, f->since_before_width, true);
	} else {
		put_name(b, "time", time_columns(f), false);
	}
}

static void put_field_name(struct ptrc_buffer *b, const struct ptrc_event_format *f, size_t i)
{
	const struct ptrc_field *field = &f->fields[i];
	int width =
		field->id == PTRC_FIELD_EVENT ? f->widths[PTRC_COLUMN_EVENT] : f->field_widths[i];
	bool is_time = field->id == PTRC_FIELD_TIME;

	if (f->format == PTRC_FORMAT_CSV)
		ptrc_buffer_format(b, "%s%s%s", i ? "," : "", f->field_names[i],
				   ns_key_of(field->id) ? "_ns" : "");
	else if (is_time && f->is_relative)
		ptrc_event_put_time_name(b, f);
	else
		put_name(b, f->field_names[i], is_time ? time_columns(f) : width,
			 ptrc_field_is_number(field) && !is_time);
}

void ptrc_event_put_header(struct ptrc_buffer *b, const struct ptrc_event_format *f)
{
	paint(b, f, FAINT);
	for (size_t i = 0; i < f->field_count; i++)
		put_field_name(b, f, i);
	if (!f->field_count) {
		ptrc_event_put_time_name(b, f);
		for (size_t i = 0; i < PTRC_COLUMNS; i++)
			if ((i != PTRC_COLUMN_LOG || f->has_log) &&
			    (i != PTRC_COLUMN_SOURCE || f->has_symbols))
				put_name(b, columns[i].name, f->widths[i], columns[i].is_right);
		put_name(b, "data", 0, false);
	}
	while (b->used && b->bytes[b->used - 1] == ' ')
		b->used--;
	paint(b, f, PLAIN);
	ptrc_buffer_text(b, f->format == PTRC_FORMAT_CSV ? "\r\n" : "\n");
}

size_t ptrc_event_width_count(const struct ptrc_event_format *f)
{
	return PTRC_COLUMNS + f->field_count;
}

void ptrc_event_get_widths(const struct ptrc_event_format *f, int *widths)
{
	memcpy(widths, f->widths, sizeof(f->widths));
	for (size_t i = 0; i < f->field_count; i++)
		widths[PTRC_COLUMNS + i] = f->field_widths[i];
}

void ptrc_event_set_widths(struct ptrc_event_format *f, const int *widths)
{
	memcpy(f->widths, widths, sizeof(f->widths));
	for (size_t i = 0; i < f->field_count; i++)
		f->field_widths[i] = widths[PTRC_COLUMNS + i];
}

void ptrc_event_format_free(struct ptrc_event_format *f)
{
	for (size_t i = 0; i < f->field_count; i++)
		free(f->field_names[i]);
	free(f->field_names);
	free(f->fields);
	free(f->field_widths);
	ptrc_buffer_free(&f->origin);
}

void ptrc_event_put(struct ptrc_buffer *b, struct ptrc_event_format *f, struct ptrc_view *view)
{
	if (f->field_count && f->format == PTRC_FORMAT_JSON)
		put_fields_json(b, f, view);
	else if (f->field_count && f->format == PTRC_FORMAT_CSV)
		put_fields_csv(b, f, view);
	else if (f->field_count)
		put_fields_text(b, f, view);
	else if (f->format == PTRC_FORMAT_JSON)
		put_json(b, f, view);
	else
		put_text(b, f, view);
}
