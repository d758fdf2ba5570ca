/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/fields/value.h"

#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/fields/json_text.h"

_Static_assert(LDBL_MANT_DIG >= 64, "a long double holds every 64-bit integer");

/* A text longer than NUMBER_MAX_BYTES is not read as a number. A float as text, with the null byte, fits in
 * FLOAT_BYTES. */
enum { NUMBER_MAX_BYTES = 63, FLOAT_BYTES = 40 };

/* Whether the text is a number. Accepts less than strtold() does: "inf", for example, is not a number. */
static bool is_number(const char *p)
{
	static const char decimal[] = "0123456789";
	size_t whole;
	size_t fraction = 0;

	p += *p == '-' || *p == '+';
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		whole = strspn(p + 2, "0123456789abcdefABCDEF");
		return whole && whole <= 16 && !p[2 + whole];
	}
	whole = strspn(p, decimal);
	p += whole;
	if (*p == '.') {
		fraction = strspn(++p, decimal);
		p += fraction;
	}
	if (!whole && !fraction)
		return false;
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '-' || *p == '+';
		if (!strspn(p, decimal))
			return false;
		p += strspn(p, decimal);
	}
	return !*p;
}

bool ptrc_value_read_number(const char *text, size_t size, long double *number)
{
	char copy[NUMBER_MAX_BYTES + 1];

	if (!size || size > NUMBER_MAX_BYTES)
		return false;
	memcpy(copy, text, size);
	copy[size] = '\0';
	if (strlen(copy) != size || !is_number(copy))
		return false;
	*number = strtold(copy, NULL);
	/* Whole numbers of 64 bits stay exact. Others, and those with a point or an exponent, are rounded to a double,
	 * because fields are doubles. An E after an X is a hexadecimal digit. */
	if (fabsl(*number) > 0x1p64L || strcspn(copy, ".eE") < strcspn(copy, "xX"))
		*number = strtod(copy, NULL);
	return true;
}

bool ptrc_value_number(const struct ptrc_value *v, long double *number)
{
	switch (v->kind) {
	case PTRC_VALUE_SIGNED:
		*number = (long double)v->i;
		return true;
	case PTRC_VALUE_UNSIGNED:
	case PTRC_VALUE_HEX:
	case PTRC_VALUE_BOOL:
		*number = (long double)v->u;
		return true;
	case PTRC_VALUE_FLOAT:
	case PTRC_VALUE_DOUBLE:
		*number = (long double)v->f;
		return true;
	case PTRC_VALUE_ENUM:
		*number = v->is_signed ? (long double)v->i : (long double)v->u;
		return true;
	case PTRC_VALUE_TEXT:
		return ptrc_value_read_number(v->bytes, v->size, number);
	default:
		return false;
	}
}

void ptrc_value_take_name(struct ptrc_value *v)
{
	if (v->kind == PTRC_VALUE_ENUM)
		v->kind = PTRC_VALUE_TEXT;
}

void ptrc_value_take_number(struct ptrc_value *v)
{
	if (v->kind == PTRC_VALUE_ENUM)
		v->kind = v->is_signed ? PTRC_VALUE_SIGNED : PTRC_VALUE_UNSIGNED;
}

void ptrc_value_name(const struct ptrc_layout_field *f, struct ptrc_value *v)
{
	for (uint32_t i = 0; i < f->member_count; i++)
		if (f->members[i].value == v->u) {
			v->is_signed = v->kind == PTRC_VALUE_SIGNED;
			v->kind = PTRC_VALUE_ENUM;
			v->bytes = f->members[i].name;
			v->size = strlen(v->bytes);
			return;
		}
}

void ptrc_value_element(const struct ptrc_value *array, uint64_t index, struct ptrc_value *v)
{
	const struct ptrc_layout_field *f = array->elements;

	*v = (struct ptrc_value){0};
	if (index < ptrc_value_count(array))
		ptrc_value_decode(f, array->bytes + index * f->item_size, 0, v);
}

static void settle_number(struct ptrc_value *v, struct ptrc_buffer *b)
{
	char *end;
	const char *text;

	b->used = 0;
	ptrc_buffer_bytes(b, v->bytes, v->size);
	ptrc_buffer_char(b, '\0');
	text = b->bytes;
	*v = (struct ptrc_value){0};
	errno = 0;
	if (*text == '-') {
		v->kind = PTRC_VALUE_SIGNED;
		v->i = strtoll(text, &end, 10);
	} else {
		v->kind = PTRC_VALUE_UNSIGNED;
		v->u = strtoull(text, &end, 10);
	}
	if (!*end && !errno)
		return;
	v->is_rounded = !*end;
	v->kind = PTRC_VALUE_DOUBLE;
	v->f = strtod(text, NULL);
	v->bytes = text;
	v->size = b->used - 1;
}

void ptrc_value_settle(struct ptrc_value *v, struct ptrc_buffer *b)
{
	if (v->kind == PTRC_VALUE_BYTES) {
		b->used = 0;
		if (v->size)
			ptrc_buffer_hex_bytes(b, v->bytes, v->size);
		*v = (struct ptrc_value){
			.kind = PTRC_VALUE_TEXT, .bytes = b->bytes, .size = b->used};
	}
	if (v->kind != PTRC_VALUE_JSON)
		return;
	switch (*v->bytes) {
	case '"':
		b->used = 0;
		ptrc_json_text_unescape(b, v->bytes, v->size);
		*v = (struct ptrc_value){
			.kind = PTRC_VALUE_TEXT, .bytes = b->bytes, .size = b->used};
		break;
	case 't':
	case 'f':
		*v = (struct ptrc_value){.kind = PTRC_VALUE_BOOL, .u = *v->bytes == 't'};
		break;
	case 'n':
		*v = (struct ptrc_value){0};
		break;
	case '{':
	case '[':
		break;
	default:
		settle_number(v, b);
		break;
	}
}

/* Writes the fewest digits that read back as the same number. */
static void write_float(char text[FLOAT_BYTES], double f, bool is_single)
{
	/* A number that is smaller than the least normal number (FLT_MIN, DBL_MIN) may need fewer digits. */
	int precision = fabs(f) < (is_single ? FLT_MIN : DBL_MIN) ? 1 : is_single ? 6 : 15;

	for (; precision <= 17; precision++) {
		snprintf(text, FLOAT_BYTES, "%.*g", precision, f);
		if (is_single ? strtof(text, NULL) == (float)f : strtod(text, NULL) == f)
			break;
	}
}

double ptrc_value_shown_float(const struct ptrc_value *v)
{
	char text[FLOAT_BYTES];

	if (v->kind == PTRC_VALUE_DOUBLE || !isfinite(v->f))
		return v->f;
	write_float(text, v->f, true);
	return strtod(text, NULL);
}

/* The word for a number that JSON cannot express (NaN or an infinity), else NULL. */
static const char *float_word(double f)
{
	if (isnan(f))
		return "nan";
	if (isinf(f))
		return f < 0 ? "-inf" : "inf";
	return NULL;
}

static void put_plain(struct ptrc_buffer *b, const struct ptrc_value *v)
{
	char number[FLOAT_BYTES];
	const char *word;

	switch (v->kind) {
	case PTRC_VALUE_SIGNED:
		ptrc_buffer_i64(b, v->i);
		break;
	case PTRC_VALUE_UNSIGNED:
		ptrc_buffer_u64(b, v->u);
		break;
	case PTRC_VALUE_HEX:
		ptrc_buffer_hex(b, v->u);
		break;
	case PTRC_VALUE_BOOL:
		ptrc_buffer_text(b, v->u ? "true" : "false");
		break;
	case PTRC_VALUE_FLOAT:
	case PTRC_VALUE_DOUBLE:
		word = float_word(v->f);
		if (!word)
			write_float(number, v->f, v->kind == PTRC_VALUE_FLOAT);
		ptrc_buffer_text(b, word ? word : number);
		break;
	case PTRC_VALUE_ENUM:
		ptrc_buffer_bytes(b, v->bytes, v->size);
		break;
	case PTRC_VALUE_BYTES:
		ptrc_buffer_hex_bytes(b, v->bytes, v->size);
		break;
	default:
		break;
	}
}

/* Appends a value that is no array as JSON. */
static void put_json(struct ptrc_buffer *b, const struct ptrc_value *v)
{
	bool is_quoted = v->kind == PTRC_VALUE_HEX || v->kind == PTRC_VALUE_ENUM ||
			 v->kind == PTRC_VALUE_BYTES;

	if (v->kind == PTRC_VALUE_TEXT) {
		ptrc_text_json(b, v->bytes, v->size);
		return;
	}
	if (v->kind == PTRC_VALUE_JSON) {
		ptrc_json_text_put(b, v->bytes, v->size, false);
		return;
	}
	if (v->kind == PTRC_VALUE_FLOAT || v->kind == PTRC_VALUE_DOUBLE)
		is_quoted = float_word(v->f);
	if (is_quoted)
		ptrc_buffer_char(b, '"');
	put_plain(b, v);
	if (is_quoted)
		ptrc_buffer_char(b, '"');
}

/* Whether all bytes of a value that is no array can be restored from its JSON. */
static bool is_exact(const struct ptrc_value *v)
{
	return !v->raw && (v->kind != PTRC_VALUE_TEXT || ptrc_text_is_utf8(v->bytes, v->size));
}

bool ptrc_value_is_exact(const struct ptrc_value *v)
{
	struct ptrc_value item;

	if (v->kind != PTRC_VALUE_ARRAY)
		return is_exact(v);
	for (uint64_t i = 0; i < ptrc_value_count(v); i++) {
		ptrc_value_element(v, i, &item);
		if (!is_exact(&item))
			return false;
	}
	return true;
}

void ptrc_value_json(struct ptrc_json *j, const char *key, const struct ptrc_value *v)
{
	struct ptrc_value item;

	if (v->kind == PTRC_VALUE_NONE)
		return;
	if (v->kind == PTRC_VALUE_ARRAY) {
		ptrc_json_open(j, key, '[');
		for (uint64_t i = 0; i < ptrc_value_count(v); i++) {
			ptrc_json_key(j, NULL);
			ptrc_value_element(v, i, &item);
			put_json(j->buffer, &item);
		}
		ptrc_json_close(j, ']');
	} else {
		ptrc_json_key(j, key);
		put_json(j->buffer, v);
	}
	if (ptrc_value_is_exact(v))
		return;
	if (v->raw)
		ptrc_json_hex(j, key, v->raw, v->raw_size);
	else
		ptrc_json_hex(j, key, v->bytes, v->size);
}

static void put_with_unit(struct ptrc_buffer *b, const struct ptrc_value *v)
{
	uint64_t ns = ptrc_unit_ns(v->unit);
	bool is_negative = v->kind == PTRC_VALUE_SIGNED && v->i < 0;
	uint64_t size = is_negative ? -v->u : v->u;

	if (ns && v->kind <= PTRC_VALUE_UNSIGNED && size && size <= UINT64_MAX / ns) {
		if (is_negative)
			ptrc_buffer_char(b, '-');
		ptrc_buffer_duration(b, size * ns, true);
		return;
	}
	put_plain(b, v);
	if ((v->kind == PTRC_VALUE_FLOAT || v->kind == PTRC_VALUE_DOUBLE) && float_word(v->f))
		return;
	if (v->unit == PTRC_UNIT_PERCENT)
		ptrc_buffer_char(b, '%');
	else if (v->unit != PTRC_UNIT_COUNT)
		ptrc_buffer_text(b, ptrc_unit_word(v->unit));
}

/* Appends a value that is no array as text. */
static void put_text(struct ptrc_buffer *b, const struct ptrc_value *v, bool has_unit)
{
	if (v->kind == PTRC_VALUE_TEXT) {
		ptrc_text_quote(b, v->bytes, v->size);
	} else if (v->kind == PTRC_VALUE_BYTES) {
		ptrc_buffer_text(b, "0x");
		ptrc_buffer_hex_bytes(b, v->bytes, v->size);
	} else if (v->kind == PTRC_VALUE_JSON) {
		ptrc_json_text_put(b, v->bytes, v->size, true);
	} else if (v->unit && has_unit) {
		put_with_unit(b, v);
	} else {
		put_plain(b, v);
	}
}

void ptrc_value_text(struct ptrc_buffer *b, const struct ptrc_value *v, bool has_unit)
{
	struct ptrc_value item;

	if (v->kind != PTRC_VALUE_ARRAY) {
		put_text(b, v, has_unit);
		return;
	}
	ptrc_buffer_char(b, '[');
	for (uint64_t i = 0; i < ptrc_value_count(v); i++) {
		if (i)
			ptrc_buffer_char(b, ',');
		ptrc_value_element(v, i, &item);
		put_text(b, &item, has_unit);
	}
	ptrc_buffer_char(b, ']');
}
