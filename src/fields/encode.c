/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/fields/encode.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/nearest.h"
#include "src/fields/json_text.h"

/* Reads a member of an enum or a whole number, decimal or hexadecimal with 0x, that fits the field. */
static bool read_integer(const struct ptrc_layout_field *f, const char *text, uint64_t *number,
			 struct ptrc_cli_reason *why)
{
	bool is_signed = f->kind == PTRC_LAYOUT_SIGNED, is_negative = *text == '-';
	const char *digits = text + is_negative;
	uint64_t most = UINT64_MAX >> (64 - 8 * f->item_size + is_signed);
	struct ptrc_nearest nearest = {0};
	char proposal[3 * PTRC_LAYOUT_NAME_MAX];
	char *end;

	for (uint32_t i = 0; i < f->member_count; i++) {
		*number = f->members[i].value;
		if (!strcmp(f->members[i].name, text))
			return true;
		ptrc_nearest_offer(&nearest, text, f->members[i].name);
	}
	errno = 0;
	*number = strtoull(digits, &end, strncmp(digits, "0x", 2) ? 10 : 16);
	if (isdigit((unsigned char)*digits) && !*end && !errno && (is_signed || !is_negative) &&
	    *number <= most + is_negative) {
		*number = is_negative ? -*number : *number;
		return true;
	}
	if (f->member_count)
		return ptrc_cli_because(why, "'%.80s' is no member of the enum%s", text,
					ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
	return ptrc_cli_because(why, "'%.80s' is no whole number from %s%" PRIu64 " to %" PRIu64,
				text, is_signed ? "-" : "", is_signed ? most + 1 : 0, most);
}

static bool put_float(const struct ptrc_layout_field *f, const char *text, struct ptrc_buffer *b,
		      struct ptrc_cli_reason *why)
{
	bool is_single = f->item_size == sizeof(float);
	float single = 0;
	double d;
	char *end;

	errno = 0;
	d = is_single ? single = strtof(text, &end) : strtod(text, &end);
	if (end == text || *end || isspace((unsigned char)*text))
		return ptrc_cli_because(why, "'%.80s' is no number", text);
	if (errno && isinf(d))
		return ptrc_cli_because(why, "'%.80s' is too large", text);
	ptrc_buffer_bytes(b, is_single ? (void *)&single : &d, f->item_size);
	return true;
}

static bool put_bytes(const struct ptrc_layout_field *f, const char *text, struct ptrc_buffer *b,
		      struct ptrc_cli_reason *why)
{
	size_t size = strlen(text), begin = b->used;

	for (size_t i = 0; i + 1 < size && isxdigit((unsigned char)text[i]) &&
			   isxdigit((unsigned char)text[i + 1]);
	     i += 2)
		ptrc_buffer_char(b, (char)strtoul((char[]){text[i], text[i + 1], 0}, NULL, 16));
	if (2 * (b->used - begin) != size)
		return ptrc_cli_because(why, "'%.80s' is not made of pairs of hexadecimal digits",
					text);
	if (f->size && b->used - begin != f->size)
		return ptrc_cli_because(why, "'%.80s' are not %zu bytes", text, f->size);
	return true;
}

static void put_zeros(struct ptrc_buffer *b, size_t count)
{
	/* An empty buffer may have no memory, whose address must not be used. */
	if (!count)
		return;
	memset(ptrc_buffer_room(b, count), 0, count);
	b->used += count;
}

static bool put_value(const struct ptrc_layout_field *f, const char *text, struct ptrc_buffer *b,
		      struct ptrc_cli_reason *why)
{
	size_t size = strlen(text);
	uint64_t number;

	switch ((enum ptrc_layout_kind)f->kind) {
	case PTRC_LAYOUT_FLOAT:
		return put_float(f, text, b, why);
	case PTRC_LAYOUT_BYTES:
		return put_bytes(f, text, b, why);
	case PTRC_LAYOUT_STRING:
		ptrc_buffer_bytes(b, text, size + 1);
		return true;
	case PTRC_LAYOUT_CHARS:
		if (size > f->size)
			return ptrc_cli_because(why, "'%.80s' has more than %zu bytes", text,
						f->size);
		ptrc_buffer_bytes(b, text, size);
		put_zeros(b, f->size - size);
		return true;
	case PTRC_LAYOUT_JSON:
		ptrc_buffer_bytes(b, text, size);
		return ptrc_json_text_is_valid(text, size) ||
		       ptrc_cli_because(why, "'%.80s' is no JSON", text);
	case PTRC_LAYOUT_BOOL:
		if (strcmp(text, "true") && strcmp(text, "false"))
			return ptrc_cli_because(why, "'%.80s' is neither true nor false", text);
		ptrc_buffer_char(b, *text == 't');
		return true;
	default:
		/* Numbers are little-endian, as are the processors for which this is built. */
		if (!read_integer(f, text, &number, why))
			return false;
		ptrc_buffer_bytes(b, &number, f->item_size);
		return true;
	}
}

/* The value of NAME=VALUE for the field; NULL if there is none. */
static const char *value_of(const char *name, char *const *pairs)
{
	size_t size = strlen(name);

	for (; *pairs; pairs++)
		if (!strncmp(*pairs, name, size) && (*pairs)[size] == '=')
			return *pairs + size + 1;
	return NULL;
}

/* Whether each pair has the name of a field, and another one than the pairs before it. */
static bool are_fields(const struct ptrc_layout_fields *l, char *const *pairs,
		       struct ptrc_cli_reason *why)
{
	char proposal[3 * PTRC_LAYOUT_NAME_MAX];

	for (char *const *p = pairs; *p; p++) {
		size_t size = strcspn(*p, "=");
		struct ptrc_nearest nearest = {0};
		/* A byte more than the name of a field has, so that a longer one differs. */
		char name[PTRC_LAYOUT_NAME_MAX + 2];
		bool is_field = false;

		snprintf(name, sizeof(name), "%.*s", (int)size, *p);
		for (size_t i = 0; i < l->count; i++) {
			is_field |= *name && !strcmp(l->fields[i].name, name);
			ptrc_nearest_offer(&nearest, name, l->fields[i].name);
		}
		if (!is_field)
			return ptrc_cli_because(
				why, "%s: the layout has no such field%s", name,
				ptrc_nearest_text(&nearest, proposal, sizeof(proposal)));
		if (!(*p)[size])
			return ptrc_cli_because(why, "%s: has no value", name);
		if (value_of(name, pairs) != *p + size + 1)
			return ptrc_cli_because(why, "%s: is given twice", name);
	}
	return true;
}

bool ptrc_layout_encode(const struct ptrc_layout *layout, char *const *pairs,
			struct ptrc_buffer *data, struct ptrc_cli_reason *why)
{
	const struct ptrc_layout_fields *l = layout->model;
	struct ptrc_cli_reason of_value;
	size_t begin = data->used;

	if (!are_fields(l, pairs, why))
		return false;
	for (const struct ptrc_layout_field *f = l->fields; f < l->fields + l->count; f++) {
		const char *value = value_of(f->name, pairs);
		size_t used = data->used - begin;
		size_t gap = f->kind == PTRC_LAYOUT_PADDING ? f->size
			     : l->is_packed		    ? 0
							    : -used % f->item_size;

		put_zeros(data, gap);
		if (f->kind == PTRC_LAYOUT_PADDING)
			continue;
		if (f->count || f->bits)
			return ptrc_cli_because(why, "%s: %s has no value in this form", f->name,
						f->bits ? "a bit field" : "an array");
		if (!value)
			return ptrc_cli_because(why, "%s: has no value", f->name);
		if (!put_value(f, value, data, &of_value))
			return ptrc_cli_because(why, "%s: %s", f->name, of_value.text);
	}
	return true;
}
