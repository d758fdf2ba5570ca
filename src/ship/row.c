/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "src/ship/row.h"

#include <stdlib.h>
#include <string.h>

#include "src/view/json_text.h"
#include "src/view/value.h"

/* A length of up to 64 bits takes so many bytes at most. */
enum { VARINT_BYTES = 10 };

static char *write_varint(char *to, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		*to++ = (char)(n | 0x80);
	*to++ = (char)n;
	return to;
}

static void put_varint(struct ptrc_buffer *b, uint64_t n)
{
	b->used = (size_t)(write_varint(ptrc_buffer_room(b, VARINT_BYTES), n) - b->bytes);
}

void ptrc_ship_put_string(struct ptrc_buffer *b, const void *bytes, size_t size)
{
	char *to = write_varint(ptrc_buffer_room(b, VARINT_BYTES + size), size);

	if (size)
		memcpy(to, bytes, size);
	b->used = (size_t)(to - b->bytes) + size;
}

/* The server and we have the same byte order: see value.h. */
void ptrc_ship_put_u32(struct ptrc_buffer *b, uint32_t n)
{
	ptrc_buffer_bytes(b, &n, sizeof(n));
}

void ptrc_ship_put_u64(struct ptrc_buffer *b, uint64_t n)
{
	ptrc_buffer_bytes(b, &n, sizeof(n));
}

/* ---- fields ---- */

/* Adds the name of a field; returns where its value is to be put. */
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

void ptrc_ship_add_int(struct ptrc_ship_fields *f, const char *name, int64_t n)
{
	ptrc_ship_put_u64(add(f, PTRC_SHIP_INTS, name, strlen(name)), (uint64_t)n);
}

void ptrc_ship_add_uint(struct ptrc_ship_fields *f, const char *name, uint64_t n)
{
	add_unsigned(f, name, strlen(name), n);
}

void ptrc_ship_add_float(struct ptrc_ship_fields *f, const char *name, double n)
{
	add_double(f, name, strlen(name), n);
}

void ptrc_ship_add_string(struct ptrc_ship_fields *f, const char *name, const char *text,
			  size_t size)
{
	add_text(f, name, strlen(name), text, size);
}

/* ---- JSON: the texts are valid ---- */

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at))
		at++;
	return at;
}

/* Behind the string that begins with the quote at `at`. */
static const char *skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\';
	return at < end ? at + 1 : end;
}

/* Behind the value at `at`. */
static const char *skip_value(const char *at, const char *end)
{
	size_t depth = 0;

	for (; at < end; at++) {
		if (*at == '"') {
			at = skip_string(at, end) - 1;
			continue;
		}
		if (*at == '{' || *at == '[')
			depth++;
		else if ((*at == '}' || *at == ']' || *at == ',') && !depth)
			return at;
		else if ((*at == '}' || *at == ']') && !--depth)
			return at + 1;
	}
	return end;
}

static void add_json_number(struct ptrc_ship_fields *f, const char *name, size_t size,
			    const char *text, size_t text_size)
{
	char digits[64];
	char *end;

	if (text_size < sizeof(digits)) {
		memcpy(digits, text, text_size);
		digits[text_size] = '\0';
		if (!strpbrk(digits, ".eE") && text_size < 20) {
			long long n = strtoll(digits, &end, 10);

			/* 19 digits may be more than 64 bits with a sign have. */
			if (text_size < 19 || (n != INT64_MAX && n != INT64_MIN)) {
				ptrc_ship_put_u64(add(f, PTRC_SHIP_INTS, name, size), (uint64_t)n);
				return;
			}
		}
		add_double(f, name, size, strtod(digits, &end));
		return;
	}
	add_text(f, name, size, text, text_size);
}

static void add_json_value(struct ptrc_ship_fields *f, const char *name, size_t size,
			   const char *text, size_t text_size)
{
	while (text_size && strchr(" \t\r\n", text[text_size - 1]))
		text_size--;
	if (!text_size || *text == 'n')
		return;
	if (*text == 't' || *text == 'f') {
		add_unsigned(f, name, size, *text == 't');
	} else if (*text == '"') {
		size_t used = f->text.used;

		ptrc_json_text_unescape(&f->text, text, text_size);
		add_text(f, name, size, f->text.bytes + used, f->text.used - used);
	} else if (*text == '{' || *text == '[') {
		add_text(f, name, size, text, text_size);
	} else {
		add_json_number(f, name, size, text, text_size);
	}
}

/* Adds what the text says: of an object its members, called PREFIX.KEY, or KEY if there is no prefix. */
static void add_json(struct ptrc_ship_fields *f, const char *prefix, const char *text, size_t size)
{
	const char *end = text + size;
	const char *at = skip_blanks(text, end);

	if (at < end && *at != '{') {
		add_json_value(f, prefix, strlen(prefix), at, (size_t)(end - at));
		return;
	}
	while (at < end && *at != '}') {
		size_t name = 0, used, key;
		const char *value;

		at = skip_blanks(at + 1, end);
		if (at == end || *at != '"')
			return;
		f->text.used = name;
		if (*prefix) {
			ptrc_buffer_text(&f->text, prefix);
			ptrc_buffer_char(&f->text, '.');
		}
		value = skip_string(at, end);
		ptrc_json_text_unescape(&f->text, at, (size_t)(value - at));
		key = f->text.used;
		value = skip_blanks(value, end);
		value = skip_blanks(value + (value < end), end);
		at = skip_value(value, end);
		/* Unescaping the value may move the text with the name. */
		used = (size_t)(at - value);
		ptrc_buffer_room(&f->text, used + 16);
		add_json_value(f, f->text.bytes + name, key - name, value, used);
		at = skip_blanks(at, end);
	}
}

/* ---- the data ---- */

static void add_array(struct ptrc_ship_fields *f, const char *name, size_t size,
		      const struct ptrc_value *v)
{
	f->text.used = 0;
	ptrc_value_text(&f->text, v);
	add_text(f, name, size, f->text.bytes, f->text.used);
}

static void add_value(struct ptrc_ship_fields *f, const char *name, const struct ptrc_value *v)
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
		add_double(f, name, size, v->f);
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
		add_array(f, name, size, v);
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
			add_value(f, field->name, &decoded->values[i]);
}

/* ---- rows ---- */

/* Puts the column of a kind, and empties it. */
static void put_kind(struct ptrc_buffer *b, struct ptrc_ship_fields *f, enum ptrc_ship_kind kind)
{
	put_varint(b, f->kinds[kind].count);
	ptrc_buffer_bytes(b, f->kinds[kind].names.bytes, f->kinds[kind].names.used);
	if (f->dialect == PTRC_SHIP_PLAIN) {
		put_varint(b, f->kinds[kind].count);
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
	ptrc_ship_put_u64(b, e->bound_ns);
	ptrc_ship_put_u32(b, (uint32_t)e->pid);
	ptrc_ship_put_u32(b, (uint32_t)e->tid);
	ptrc_ship_put_u64(b, e->process);
	ptrc_ship_put_string(b, e->name, e->name_size);
	for (int i = 0; i < PTRC_SHIP_KINDS; i++)
		put_kind(b, f, (enum ptrc_ship_kind)i);
	ptrc_ship_put_string(b, e->data, e->size);
	f->text.used = 0;
}

void ptrc_ship_fields_free(struct ptrc_ship_fields *f)
{
	for (int i = 0; i < PTRC_SHIP_KINDS; i++) {
		ptrc_buffer_free(&f->kinds[i].names);
		ptrc_buffer_free(&f->kinds[i].values);
	}
	ptrc_buffer_free(&f->text);
}
