/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/text/columns.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/json.h"
#include "src/base/message.h"
#include "src/fields/when.h"

/* A block ends with the event that makes it reach one of these limits. BLOCK_EVENTS keeps the
 * numbers of origins in a block below 2^16, BLOCK_BYTES keeps a block of large events small. */
enum { BLOCK_EVENTS = 8192, BLOCK_BYTES = 1 << 20 };

/* How a block holds the data of an event. */
enum form {
	/* A column for each field of the layout. */
	FIELDS,
	/* Data without a layout: TEXT if JSON shows it as text, HEX if as hexadecimal digits. */
	TEXT,
	HEX,
	/* The JSON members for the data of the event, as one text. This form suits all data. */
	MEMBERS,
};

static const char *const form_names[] = {"fields", "text", "hex", "members"};

/* A column of numbers has them in `values`. A column of texts has the texts in `texts`, and in `values` the offsets
 * in `texts` at which they end. */
struct column {
	struct ptrc_buffer values, texts;
};

/* The events of one type that have their data in one form. */
struct ptrc_columns_kind {
	struct ptrc_table_entry entry;
	/* The JSON text that describes the kind in the header of a block, up to the number of its
	 * events. */
	struct ptrc_buffer head;
	const struct ptrc_layout *layout;
	enum form form;
	/* The number of the kind in the block, and how many events of the kind the block has. If it has none,
	 * the kind has no number. */
	uint16_t number;
	uint32_t event_count;
	/* For FIELDS, a column for each field of the layout; the columns of padding stay empty. For other forms, one
	 * column of texts. */
	struct column *columns;
	size_t column_count;
};

struct kind_key {
	const struct ptrc_type *type;
	uint64_t form;
};

/* An origin: values that many events have in common. The struct has no padding, because a key of a
 * table is compared byte by byte. */
struct origin_key {
	struct ptrc_columns_kind *kind;
	uint64_t thread, address;
	int32_t pid, tid;
	uint64_t truncation;
};

struct ptrc_columns_origin {
	struct ptrc_table_entry entry;
	/* key.kind is NULL until the origin has its number in the block. */
	struct origin_key key;
	uint16_t number;
};

static void put_number(struct ptrc_buffer *b, uint64_t number, size_t size)
{
	/* The columns are little endian, as are this machine, layouts and logs: see lib/model/layout.h. */
	memcpy(ptrc_buffer_room(b, sizeof(number)), &number, sizeof(number));
	b->used += size;
}

static void put_text(struct column *c, const void *text, size_t size)
{
	ptrc_buffer_bytes(&c->texts, text, size);
	put_number(&c->values, c->texts.used, sizeof(uint32_t));
}

/* ---- fields ---- */

/* The word for the type of a column that holds texts of different sizes; NULL if the field is a number. */
static const char *text_type_of(const struct ptrc_layout_field *f)
{
	switch (f->kind) {
	case PTRC_LAYOUT_CHARS:
	case PTRC_LAYOUT_STRING:
		return "text";
	case PTRC_LAYOUT_BYTES:
		return "bytes";
	case PTRC_LAYOUT_JSON:
		return "json";
	default:
		return f->count ? "json" : NULL;
	}
}

static bool is_shown(const struct ptrc_layout_field *f)
{
	return f->kind != PTRC_LAYOUT_PADDING;
}

/* Puts the type of a number as NumPy names it. */
static void put_number_type(struct ptrc_json *j, const char *key, const struct ptrc_layout_field *f)
{
	char type[4] = {f->item_size > 1 ? '<' : '|', 'u', (char)('0' + f->item_size), '\0'};

	if (f->kind == PTRC_LAYOUT_SIGNED)
		type[1] = 'i';
	else if (f->kind == PTRC_LAYOUT_FLOAT)
		type[1] = 'f';
	else if (f->kind == PTRC_LAYOUT_BOOL)
		type[1] = 'b';
	ptrc_json_text(j, key, type);
}

static void put_field(struct ptrc_json *j, const struct ptrc_layout_field *f)
{
	ptrc_json_open(j, NULL, '{');
	ptrc_json_text(j, "name", f->name);
	if (text_type_of(f)) {
		ptrc_json_text(j, "type", text_type_of(f));
		if (f->count)
			put_number_type(j, "elements", f);
	} else {
		put_number_type(j, "type", f);
		if (f->kind == PTRC_LAYOUT_HEX || ptrc_layout_is_code(f->kind))
			ptrc_json_text(j, "as", "hex");
		if (f->member_count)
			ptrc_json_open(j, "names", '[');
		for (uint32_t i = 0; i < f->member_count; i++) {
			ptrc_json_open(j, NULL, '[');
			if (f->kind == PTRC_LAYOUT_SIGNED)
				ptrc_json_i64(j, NULL, (int64_t)f->members[i].value);
			else
				ptrc_json_u64(j, NULL, f->members[i].value);
			ptrc_json_text(j, NULL, f->members[i].name);
			ptrc_json_close(j, ']');
		}
		if (f->member_count)
			ptrc_json_close(j, ']');
	}
	ptrc_json_close(j, '}');
}

/* ---- events ---- */

static enum form form_of(struct ptrc_view *view)
{
	const struct ptrc_reader *r = view->reader;
	const struct ptrc_layout *l = view->layout;
	const struct ptrc_decoded *d;
	size_t size = r->size;

	if (!l && ptrc_event_has_members(r))
		return MEMBERS;
	if (!l)
		return ptrc_text_is_clean(r->data, &size) ? TEXT : HEX;
	d = ptrc_view_decode(view);
	if (d->error != PTRC_LAYOUT_FITS || ptrc_layout_whole(l, d))
		return MEMBERS;
	for (size_t i = 0; i < l->model->count; i++)
		if (is_shown(&l->model->fields[i]) && !ptrc_value_is_exact(&d->values[i]))
			return MEMBERS;
	return FIELDS;
}

static struct ptrc_columns_kind *
find_kind(struct ptrc_columns *c, const struct ptrc_event_format *f, struct ptrc_view *view)
{
	struct ptrc_reader *r = view->reader;
	struct kind_key key = {ptrc_reader_type(r, r->event.posix_event_id), form_of(view)};
	struct ptrc_columns_kind *kind =
		ptrc_table_find(&c->kinds, &key, sizeof(key), sizeof(*kind));
	struct ptrc_json j = {&kind->head, true};

	if (kind->head.used)
		return kind;
	kind->layout = view->layout;
	kind->form = (enum form)key.form;
	kind->column_count = kind->form == FIELDS ? view->layout->model->count : 1;
	kind->columns = ptrc_cli_allocate(kind->column_count * sizeof(*kind->columns));
	ptrc_json_open(&j, NULL, '{');
	ptrc_event_put_type_json(&j, f, r);
	ptrc_json_text(&j, "form", form_names[kind->form]);
	ptrc_json_open(&j, "fields", '[');
	for (size_t i = 0; view->layout && i < view->layout->model->count; i++)
		if (*view->layout->model->fields[i].name)
			put_field(&j, &view->layout->model->fields[i]);
	ptrc_json_close(&j, ']');
	return kind;
}

static void put_value(struct column *c, const struct ptrc_layout_field *f,
		      const struct ptrc_value *v)
{
	float single;
	uint32_t bits;

	if (v->kind == PTRC_VALUE_ARRAY) {
		struct ptrc_json j = {&c->texts, true};

		ptrc_value_json(&j, NULL, v);
		put_text(c, NULL, 0);
	} else if (ptrc_value_has_bytes(v)) {
		put_text(c, v->bytes, v->size);
	} else if (v->kind == PTRC_VALUE_FLOAT) {
		single = (float)v->f;
		memcpy(&bits, &single, sizeof(bits));
		put_number(&c->values, bits, sizeof(bits));
	} else {
		/* v->u shares its memory with v->f, so it has the bits of a double. */
		put_number(&c->values, v->u, f->item_size);
	}
}

static void put_members(struct column *c, struct ptrc_view *view)
{
	struct ptrc_json j = {&c->texts, true};

	ptrc_json_open(&j, NULL, '{');
	ptrc_event_put_members_json(&j, view);
	ptrc_json_close(&j, '}');
	put_text(c, NULL, 0);
}

static void put_data(struct ptrc_columns_kind *kind, struct ptrc_view *view)
{
	const struct ptrc_reader *r = view->reader;

	kind->event_count++;
	if (kind->form == MEMBERS)
		put_members(kind->columns, view);
	else if (kind->form != FIELDS)
		put_text(kind->columns, r->data, r->size);
	else
		for (size_t i = 0; i < kind->column_count; i++) {
			const struct ptrc_layout_field *f = &kind->layout->model->fields[i];

			if (is_shown(f))
				put_value(&kind->columns[i], f, &view->decoded.values[i]);
		}
}

static struct ptrc_columns_origin *
find_origin(struct ptrc_columns *c, struct ptrc_columns_kind *kind, const struct ptrc_reader *r)
{
	const struct posix_trace_event_info *e = &r->event;
	struct origin_key key = {
		.kind = kind,
		.thread = (uint64_t)e->posix_thread_id,
		.address = (uintptr_t)e->posix_prog_address,
		.pid = e->posix_pid,
		.tid = e->posix_tid,
		.truncation = (uint64_t)e->posix_truncation_status,
	};
	struct ptrc_columns_origin *origin =
		ptrc_table_find(&c->origins, &key, sizeof(key), sizeof(*origin));

	if (origin->key.kind)
		return origin;
	origin->key = key;
	origin->number = (uint16_t)c->origin_count;
	*ptrc_append(c->origin_list, c->origin_count) = origin;
	return origin;
}

void ptrc_columns_put(struct ptrc_columns *c, struct ptrc_buffer *b,
		      const struct ptrc_event_format *f, struct ptrc_view *view)
{
	const struct ptrc_reader *r = view->reader;
	struct ptrc_columns_kind *kind = find_kind(c, f, view);

	if (!kind->event_count) {
		kind->number = (uint16_t)c->kind_count;
		*ptrc_append(c->kind_list, c->kind_count) = kind;
	}
	put_number(&c->ns, (uint64_t)ptrc_when_ns(&r->event.posix_timestamp), sizeof(int64_t));
	put_number(&c->origin, find_origin(c, kind, r)->number, sizeof(uint16_t));
	put_number(&c->len, r->size, sizeof(uint32_t));
	put_data(kind, view);
	c->data_bytes += r->size;
	if (++c->event_count == BLOCK_EVENTS || c->data_bytes >= BLOCK_BYTES)
		ptrc_columns_flush(c, b);
}

/* ---- blocks ---- */

/* The columns of events and of origins, as the header of a block lists them. */
static const char event_columns[] = "[{\"name\":\"ns\",\"type\":\"<i8\"},"
				    "{\"name\":\"origin\",\"type\":\"<u2\"},"
				    "{\"name\":\"len\",\"type\":\"<u4\"}]";
static const char origin_columns[] = "[{\"name\":\"kind\",\"type\":\"<u2\"},"
				     "{\"name\":\"pid\",\"type\":\"<i4\"},"
				     "{\"name\":\"tid\",\"type\":\"<i4\"},"
				     "{\"name\":\"thread\",\"type\":\"<u8\",\"as\":\"hex\"},"
				     "{\"name\":\"address\",\"type\":\"<u8\",\"as\":\"hex\"},"
				     "{\"name\":\"truncated\",\"type\":\"|u1\","
				     "\"names\":[[0,\"no\"],[1,\"record\"],[2,\"read\"]]}]";

/* Pads the column, so that the next one starts at a multiple of eight bytes. */
static void end_column(struct ptrc_buffer *body)
{
	while (body->used % 8)
		ptrc_buffer_char(body, '\0');
}

/* Appends the contents of a buffer to the body of the block as a column, and empties the buffer. */
static void move_column(struct ptrc_buffer *body, struct ptrc_buffer *from)
{
	ptrc_buffer_bytes(body, from->bytes, from->used);
	end_column(body);
	from->used = 0;
}

static uint64_t truncation_of(uint64_t status)
{
	return status == POSIX_TRACE_NOT_TRUNCATED	? 0
	       : status == POSIX_TRACE_TRUNCATED_RECORD ? 1
							: 2;
}

static uint64_t number_of(const struct ptrc_columns_origin *o, size_t column)
{
	const uint64_t numbers[] = {
		o->key.kind->number, (uint64_t)o->key.pid, (uint64_t)o->key.tid,
		o->key.thread,	     o->key.address,	   truncation_of(o->key.truncation),
	};

	return numbers[column];
}

static void put_origins(struct ptrc_columns *c)
{
	static const size_t sizes[] = {
		sizeof(uint16_t), sizeof(int32_t),  sizeof(int32_t),
		sizeof(uint64_t), sizeof(uint64_t), sizeof(uint8_t),
	};

	for (size_t column = 0; column < sizeof(sizes) / sizeof(*sizes); column++) {
		for (size_t i = 0; i < c->origin_count; i++)
			put_number(&c->body, number_of(c->origin_list[i], column), sizes[column]);
		end_column(&c->body);
	}
	for (size_t i = 0; i < c->origin_count; i++)
		ptrc_table_remove(&c->origins, c->origin_list[i]);
	c->origin_count = 0;
}

/* Moves the columns of a kind to those of the block, and puts the kind into the header. */
static void put_kind(struct ptrc_columns *c, struct ptrc_buffer *b, struct ptrc_columns_kind *kind)
{
	struct ptrc_json j = {b, false};

	ptrc_buffer_bytes(b, kind->head.bytes, kind->head.used);
	ptrc_json_u64(&j, "rows", kind->event_count);
	ptrc_json_open(&j, "text_bytes", '[');
	for (size_t i = 0; i < kind->column_count; i++) {
		struct column *column = &kind->columns[i];
		const struct ptrc_layout_field *f =
			kind->form == FIELDS ? &kind->layout->model->fields[i] : NULL;

		if (f && !is_shown(f))
			continue;
		move_column(&c->body, &column->values);
		if (f && !text_type_of(f))
			continue;
		ptrc_json_u64(&j, NULL, column->texts.used);
		move_column(&c->body, &column->texts);
	}
	ptrc_json_close(&j, ']');
	ptrc_json_close(&j, '}');
	kind->event_count = 0;
}

void ptrc_columns_flush(struct ptrc_columns *c, struct ptrc_buffer *b)
{
	struct ptrc_json j;

	if (!c->event_count)
		return;
	j = ptrc_json_begin(b);
	ptrc_json_u64(&j, "rows", c->event_count);
	ptrc_json_key(&j, "events");
	ptrc_buffer_text(b, event_columns);
	ptrc_json_u64(&j, "origin_rows", c->origin_count);
	ptrc_json_key(&j, "origins");
	ptrc_buffer_text(b, origin_columns);
	move_column(&c->body, &c->ns);
	move_column(&c->body, &c->origin);
	move_column(&c->body, &c->len);
	put_origins(c);
	ptrc_json_open(&j, "kinds", '[');
	for (size_t i = 0; i < c->kind_count; i++) {
		ptrc_json_key(&j, NULL);
		put_kind(c, b, c->kind_list[i]);
	}
	ptrc_json_close(&j, ']');
	ptrc_json_u64(&j, "bytes", c->body.used);
	ptrc_json_end(&j);
	ptrc_buffer_bytes(b, c->body.bytes, c->body.used);
	c->body.used = 0;
	c->kind_count = 0;
	c->event_count = 0;
	c->data_bytes = 0;
}

void ptrc_columns_free(struct ptrc_columns *c)
{
	for (struct ptrc_columns_kind *kind = NULL; (kind = ptrc_table_next(&c->kinds, kind));) {
		for (size_t i = 0; i < kind->column_count; i++) {
			ptrc_buffer_free(&kind->columns[i].values);
			ptrc_buffer_free(&kind->columns[i].texts);
		}
		free(kind->columns);
		ptrc_buffer_free(&kind->head);
	}
	ptrc_table_free(&c->kinds);
	ptrc_table_free(&c->origins);
	free(c->kind_list);
	free(c->origin_list);
	ptrc_buffer_free(&c->ns);
	ptrc_buffer_free(&c->origin);
	ptrc_buffer_free(&c->len);
	ptrc_buffer_free(&c->body);
	*c = (struct ptrc_columns){0};
}
