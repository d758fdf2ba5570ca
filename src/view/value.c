/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LDBL_MANT_DIG >= 64, "a long double holds every 64-bit integer");

/* A longer text is not read as a number. */
enum { NUMBER_MAX_BYTES = 63 };

/* Whether the text is a number for --where, which accepts less than strtold(): "inf", for
 * example, is not a number. */
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
	case PTRC_VALUE_TEXT:
		return ptrc_value_read_number(v->bytes, v->size, number);
	default:
		return false;
	}
}

/* Puts the fewest digits that read back as the same number. */
static void put_float(struct ptrc_buffer *b, double f, bool is_single)
{
	char text[40];
	int precision = is_single ? 6 : 15;

	for (; precision <= 17; precision++) {
		snprintf(text, sizeof(text), "%.*g", precision, f);
		if (is_single ? strtof(text, NULL) == (float)f : strtod(text, NULL) == f)
			break;
	}
	ptrc_buffer_text(b, text);
}

/* The word for a number that JSON cannot hold; null for others. */
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
		if (word)
			ptrc_buffer_text(b, word);
		else
			put_float(b, v->f, v->kind == PTRC_VALUE_FLOAT);
		break;
	default:
		break;
	}
}

void ptrc_value_json(struct ptrc_json *j, const char *key, const struct ptrc_value *v)
{
	bool is_quoted = v->kind == PTRC_VALUE_HEX;
	bool is_exact = !v->raw;

	if (v->kind == PTRC_VALUE_NONE)
		return;
	if (v->kind == PTRC_VALUE_FLOAT || v->kind == PTRC_VALUE_DOUBLE)
		is_quoted = float_word(v->f);
	ptrc_json_key(j, key);
	if (v->kind == PTRC_VALUE_TEXT) {
		ptrc_text_json(j->buffer, v->bytes, v->size);
		is_exact = is_exact && ptrc_text_is_utf8(v->bytes, v->size);
	} else if (v->kind == PTRC_VALUE_BYTES) {
		ptrc_buffer_char(j->buffer, '"');
		ptrc_buffer_hex_bytes(j->buffer, v->bytes, v->size);
		ptrc_buffer_char(j->buffer, '"');
	} else {
		if (is_quoted)
			ptrc_buffer_char(j->buffer, '"');
		put_plain(j->buffer, v);
		if (is_quoted)
			ptrc_buffer_char(j->buffer, '"');
	}
	if (is_exact)
		return;
	if (v->raw)
		ptrc_json_hex(j, key, v->raw, v->raw_size);
	else
		ptrc_json_hex(j, key, v->bytes, v->size);
}

void ptrc_value_text(struct ptrc_buffer *b, const struct ptrc_value *v)
{
	if (v->kind == PTRC_VALUE_TEXT) {
		ptrc_text_quote(b, v->bytes, v->size);
	} else if (v->kind == PTRC_VALUE_BYTES) {
		ptrc_buffer_text(b, "0x");
		ptrc_buffer_hex_bytes(b, v->bytes, v->size);
	} else {
		put_plain(b, v);
	}
}
