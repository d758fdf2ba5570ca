/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"
#include "src/fields/value.h"
#include "src/query/correction.h"

void ptrc_ship_put_string(struct ptrc_buffer *b, const void *bytes, size_t size)
{
	char *to = ptrc_write_varint(ptrc_buffer_room(b, PTRC_VARINT_BYTES + size), size);

	if (size)
		memcpy(to, bytes, size);
	b->used = (size_t)(to - b->bytes) + size;
}

/* RowBinary is little-endian, like the processors that are supported, so the bytes are copied. */
void ptrc_ship_put_u32(struct ptrc_buffer *b, uint32_t n)
{
	ptrc_buffer_bytes(b, &n, sizeof(n));
}

void ptrc_ship_put_u64(struct ptrc_buffer *b, uint64_t n)
{
	ptrc_buffer_bytes(b, &n, sizeof(n));
}

/* Adds the name of a field. Returns the buffer for the field's value. */
static struct ptrc_buffer *add(struct ptrc_ship_fields *f, enum ptrc_ship_kind kind,
			       const char *name, size_t size)
{
	f->kinds[kind].count++;
	ptrc_ship_put_string(&f->kinds[kind].names, name, size);
	return f->dialect == PTRC_SHIP_MODERN ? &f->kinds[kind].names : &f->kinds[kind].values;
}

static void add_unsigned(struct ptrc_ship_fields *f, const char *name, size_t size, uint64_t n)
{
	ptrc_ship_put_u64(add(f, n > INT64_MAX ? PTRC_SHIP_UINTS : PTRC_SHIP_INTS, name, size), n);
}

static void add_double(struct ptrc_ship_fields *f, const char *name, size_t size, double n)
{
	ptrc_buffer_bytes(add(f, PTRC_SHIP_FLOATS, name, size), &n, sizeof(n));
}

static void add_text(struct ptrc_ship_fields *f, const char *name, size_t size, const char *text,
		     size_t text_size)
{
	ptrc_ship_put_string(add(f, PTRC_SHIP_STRINGS, name, size), text, text_size);
}

static void add_json_number(struct ptrc_ship_fields *f, const char *name, size_t size,
			    const char *text, size_t text_size)
{
	bool is_whole = !memchr(text, '.', text_size) && !memchr(text, 'e', text_size) &&
			!memchr(text, 'E', text_size);
	long long n;

	f->text.used = 0;
	ptrc_buffer_bytes(&f->text, text, text_size);
	ptrc_buffer_char(&f->text, '\0');
	errno = 0;
	if (is_whole && *text == '-') {
		n = strtoll(f->text.bytes, NULL, 10);
		if (!errno) {
			ptrc_ship_put_u64(add(f, PTRC_SHIP_INTS, name, size), (uint64_t)n);
			return;
		}
	} else if (is_whole) {
		unsigned long long u = strtoull(f->text.bytes, NULL, 10);

		if (!errno) {
			add_unsigned(f, name, size, u);
			return;
		}
	}
	add_double(f, name, size, strtod(f->text.bytes, NULL));
}

static void add_json_value(struct ptrc_ship_fields *f, const char *name, size_t size,
			   const char *text, size_t text_size)
{
	switch (*text) {
	case 'n':
		break;
	case 't':
	case 'f':
		add_unsigned(f, name, size, *text == 't');
		break;
	case '"':
		f->text.used = 0;
		ptrc_json_text_unescape(&f->text, text, text_size);
		add_text(f, name, size, f->text.bytes, f->text.used);
		break;
	case '{':
	case '[':
		f->text.used = 0;
		ptrc_json_text_put(&f->text, text, text_size, false);
		add_text(f, name, size, f->text.bytes, f->text.used);
		break;
	default:
		add_json_number(f, name, size, text, text_size);
	}
}

/* Puts the name of the member's field into .names: PREFIX.NAME, or NAME if the prefix is "". */
static void name_member(struct ptrc_ship_fields *f, const char *prefix, struct ptrc_ship_member *m)
{
	size_t begin = f->names.used;

	if (*prefix) {
		ptrc_buffer_text(&f->names, prefix);
		ptrc_buffer_char(&f->names, '.');
	}
	ptrc_json_text_unescape(&f->names, m->json.name, m->json.name_size);
	m->name_size = f->names.used - begin;
}

/* Finds the members of a JSON object, and stores them in .members. Returns how many there are. */
static size_t find_members(struct ptrc_ship_fields *f, const char *prefix, const char *at,
			   const char *end)
{
	struct ptrc_json_text_member json;
	size_t count = 0, begin = 0;

	f->names.used = 0;
	for (; ptrc_json_text_next_member(&at, end, &json); count++) {
		if (count == f->member_room) {
			f->member_room = count ? 2 * count : 16;
			f->members = ptrc_cli_reallocate(f->members,
							 f->member_room * sizeof(*f->members));
		}
		f->members[count].json = json;
		name_member(f, prefix, &f->members[count]);
	}
	/* The pointers are set only now, because the buffer of the names could move while it grew. */
	for (size_t i = 0; i < count; i++) {
		f->members[i].name = f->names.bytes + begin;
		begin += f->members[i].name_size;
	}
	return count;
}

static int by_name(const void *one, const void *other)
{
	const struct ptrc_ship_member *a = one, *b = other;
	size_t size = a->name_size < b->name_size ? a->name_size : b->name_size;
	int order = size ? memcmp(a->name, b->name, size) : 0;

	if (order)
		return order;
	if (a->name_size != b->name_size)
		return a->name_size < b->name_size ? -1 : 1;
	return a->json.name < b->json.name ? -1 : 1;
}

static void add_json(struct ptrc_ship_fields *f, const char *prefix, const char *text, size_t size)
{
	size_t count;

	if (*text != '{') {
		add_json_value(f, prefix, strlen(prefix), text, size);
		return;
	}
	count = find_members(f, prefix, text, text + size);
	ptrc_sort(f->members, count, by_name);
	for (size_t i = 0; i < count; i++) {
		const struct ptrc_ship_member *m = &f->members[i];

		/* If several members have the same name, the last one is used, as in ptrace-dump. */
		if (i + 1 < count && m[1].name_size == m->name_size &&
		    (!m->name_size || !memcmp(m[1].name, m->name, m->name_size)))
			continue;
		add_json_value(f, m->name, m->name_size, m->json.value, m->json.value_size);
	}
}

void ptrc_ship_add(struct ptrc_ship_fields *f, const char *name, const struct ptrc_value *v)
{
	size_t size = strlen(name);

	switch (v->kind) {
	case PTRC_VALUE_NONE:
		break;
	case PTRC_VALUE_SIGNED:
		ptrc_ship_put_u64(add(f, PTRC_SHIP_INTS, name, size), v->u);
		break;
	case PTRC_VALUE_UNSIGNED:
	case PTRC_VALUE_HEX:
	case PTRC_VALUE_BOOL:
		add_unsigned(f, name, size, v->u);
		break;
	case PTRC_VALUE_FLOAT:
	case PTRC_VALUE_DOUBLE:
		/* A query then finds the number that all commands show. */
		add_double(f, name, size, ptrc_value_shown_float(v));
		break;
	case PTRC_VALUE_ENUM:
		if (v->is_signed)
			ptrc_ship_put_u64(add(f, PTRC_SHIP_INTS, name, size), v->u);
		else
			add_unsigned(f, name, size, v->u);
		add_text(f, name, size, v->bytes, v->size);
		break;
	case PTRC_VALUE_TEXT:
	case PTRC_VALUE_BYTES:
		add_text(f, name, size, v->bytes, v->size);
		break;
	case PTRC_VALUE_ARRAY:
		f->text.used = 0;
		ptrc_value_text(&f->text, v, true);
		add_text(f, name, size, f->text.bytes, f->text.used);
		break;
	case PTRC_VALUE_JSON:
		add_json(f, name, v->bytes, v->size);
		break;
	}
}

void ptrc_ship_add_decoded(struct ptrc_ship_fields *f, const struct ptrc_layout *layout,
			   const struct ptrc_decoded *decoded)
{
	const struct ptrc_layout_field *field;

	for (size_t i = 0; (field = ptrc_layout_field(layout, i)); i++)
		if (*field->name || field->kind == PTRC_LAYOUT_JSON)
			ptrc_ship_add(f, field->name, &decoded->values[i]);
}

static void put_kind(struct ptrc_buffer *b, struct ptrc_ship_fields *f, enum ptrc_ship_kind kind)
{
	ptrc_buffer_varint(b, f->kinds[kind].count);
	ptrc_buffer_bytes(b, f->kinds[kind].names.bytes, f->kinds[kind].names.used);
	if (f->dialect == PTRC_SHIP_PLAIN) {
		ptrc_buffer_varint(b, f->kinds[kind].count);
		ptrc_buffer_bytes(b, f->kinds[kind].values.bytes, f->kinds[kind].values.used);
	}
	f->kinds[kind].count = f->kinds[kind].names.used = f->kinds[kind].values.used = 0;
}

void ptrc_ship_put_event(struct ptrc_buffer *b, const struct ptrc_buffer *head,
			 const struct ptrc_ship_event *e, struct ptrc_ship_fields *f)
{
	ptrc_buffer_bytes(b, head->bytes, head->used);
	ptrc_ship_put_u64(b, e->seq);
	ptrc_ship_put_u64(b, (uint64_t)e->ns);
	ptrc_ship_put_u64(b,
			  e->bound_ns == PTRC_BOUND_UNKNOWN ? UINT64_MAX : (uint64_t)e->bound_ns);
	ptrc_ship_put_u32(b, (uint32_t)e->pid);
	ptrc_ship_put_u32(b, (uint32_t)e->tid);
	ptrc_ship_put_u64(b, e->process);
	ptrc_ship_put_string(b, e->name, e->name_size);
	for (int i = 0; i < PTRC_SHIP_KINDS; i++)
		put_kind(b, f, (enum ptrc_ship_kind)i);
	ptrc_ship_put_string(b, e->data, e->size);
}

void ptrc_ship_fields_free(struct ptrc_ship_fields *f)
{
	for (int i = 0; i < PTRC_SHIP_KINDS; i++) {
		ptrc_buffer_free(&f->kinds[i].names);
		ptrc_buffer_free(&f->kinds[i].values);
	}
	ptrc_buffer_free(&f->text);
	ptrc_buffer_free(&f->names);
	free(f->members);
}
