/* SPDX-License-Identifier: MIT */
/* The value of a field of an event: in the form that --where compares, and printed as text and as JSON. */
#ifndef PTRC_SRC_FIELDS_VALUE_H
#define PTRC_SRC_FIELDS_VALUE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/model/layout.h"
#include "src/base/json.h"

enum ptrc_value_kind {
	/* The event does not have the field. */
	PTRC_VALUE_NONE,
	PTRC_VALUE_SIGNED,
	PTRC_VALUE_UNSIGNED,
	/* An unsigned number that is printed in hexadecimal. */
	PTRC_VALUE_HEX,
	PTRC_VALUE_BOOL,
	PTRC_VALUE_FLOAT,
	PTRC_VALUE_DOUBLE,
	PTRC_VALUE_TEXT,
	/* Bytes, which are printed as hexadecimal digits. */
	PTRC_VALUE_BYTES,
	/* A number for which the enum has a name. The name is in .bytes. */
	PTRC_VALUE_ENUM,
	PTRC_VALUE_ARRAY,
	/* A valid JSON text. */
	PTRC_VALUE_JSON,
};

/* The dimension of a value: a time and a number, for example, cannot be compared. Each dimension is one bit,
 * so that a set of dimensions is a number. */
enum ptrc_dimension {
	PTRC_DIMENSION_NUMBER = 1,
	PTRC_DIMENSION_DURATION = 2,
	PTRC_DIMENSION_MOMENT = 4,
	PTRC_DIMENSION_TEXT = 8,
	PTRC_DIMENSION_BOOL = 16,
	/* Bytes, which are compared as the text of their hexadecimal digits. */
	PTRC_DIMENSION_BYTES = 32,
	/* A whole array, of which only the elements are compared and calculated with. */
	PTRC_DIMENSION_ARRAY = 64,
};

struct ptrc_value {
	enum ptrc_value_kind kind;
	/* One of enum ptrc_unit. */
	unsigned char unit;
	/* For an enum: its type is signed, so the number is in .i, not in .u. */
	bool is_signed;
	/* A whole number of JSON beyond 64 bits: .f is rounded, and .bytes are its digits. */
	bool is_rounded;
	union {
		int64_t i;
		uint64_t u;
		double f;
		/* For an array: the field that describes its elements. */
		const struct ptrc_layout_field *elements;
	};
	/* The text or the bytes. The value does not own them: the event, a layout or a buffer does. */
	const char *bytes;
	size_t size;
	/* All bytes of the value in the event, if it is an array, or if they cannot be restored from the value as it is
	 * printed; else NULL. */
	const void *raw;
	size_t raw_size;
};

/* Stores the value as a number. (A long double can hold every 64-bit integer and every double.) Returns false if
 * the value is neither a number nor a text that reads as a number. */
bool ptrc_value_number(const struct ptrc_value *, long double *);

/* The number that the printed text of a value of the kind FLOAT or DOUBLE stands for: 0.1 for (float)0.1, whose value is
 * 0.10000000149. */
double ptrc_value_shown_float(const struct ptrc_value *);

/* Reads the whole text as a number: decimal, with or without sign, point and exponent, or hexadecimal with 0x.
 * Returns false if it is something else. A number with a point or an exponent, or beyond 64 bits, is rounded to a
 * double. */
bool ptrc_value_read_number(const char *, size_t, long double *);

/* Turns a value into the form in which --where compares it: bytes become the text of their hexadecimal digits; a
 * number, a boolean or a string in JSON becomes a value of that kind; null becomes no value (PTRC_VALUE_NONE). A new
 * text is stored in the buffer. */
void ptrc_value_settle(struct ptrc_value *, struct ptrc_buffer *);

/* ptrc_value_take_name() turns an enum into the text of its name, ptrc_value_take_number() into its number. */
void ptrc_value_take_name(struct ptrc_value *);
void ptrc_value_take_number(struct ptrc_value *);

/* Whether the event lacks the field, or the field is null in JSON. */
static inline bool ptrc_value_is_missing(const struct ptrc_value *v)
{
	return v->kind == PTRC_VALUE_NONE || (v->kind == PTRC_VALUE_JSON && *v->bytes == 'n');
}

/* If the field's layout has a name for the number, turns the value into an enum. */
void ptrc_value_name(const struct ptrc_layout_field *, struct ptrc_value *);

static inline bool ptrc_value_has_bytes(const struct ptrc_value *v)
{
	return v->kind == PTRC_VALUE_TEXT || v->kind == PTRC_VALUE_BYTES ||
	       v->kind == PTRC_VALUE_ARRAY || v->kind == PTRC_VALUE_JSON;
}

static inline uint64_t ptrc_value_count(const struct ptrc_value *array)
{
	return array->size / array->elements->item_size;
}

/* Stores the element of an array with this index; a value of kind NONE after the last element. */
void ptrc_value_element(const struct ptrc_value *array, uint64_t index, struct ptrc_value *);

/* Whether all bytes of the value can be restored from the member that ptrc_value_json() puts for
 * it, without the _hex member. */
bool ptrc_value_is_exact(const struct ptrc_value *);

/* Puts the value as a JSON member with this key. If the member does not show all bytes of the value, such as a text
 * that is not UTF-8, also puts a member whose name is the key with _hex appended, with all bytes in hexadecimal.
 * Puts nothing for PTRC_VALUE_NONE. */
void ptrc_value_json(struct ptrc_json *, const char *key, const struct ptrc_value *);

/* Appends the value as text, with or without its unit. A text is quoted by ptrc_text_quote(). */
void ptrc_value_text(struct ptrc_buffer *, const struct ptrc_value *, bool has_unit);

/* Decodes one number, which is a field, an element of an array, or a bit field. *v starts zeroed. The function is
 * inline because it is called for millions of events per second. */
static inline void ptrc_value_decode(const struct ptrc_layout_field *f, const char *data,
				     unsigned int bit_at, struct ptrc_value *v)
{
	uint64_t u = ptrc_layout_number_of(f, data, bit_at);
	float single;

	v->u = u;
	v->unit = f->unit;
	v->raw_size = f->item_size;
	switch (f->kind) {
	case PTRC_LAYOUT_SIGNED:
		v->kind = PTRC_VALUE_SIGNED;
		break;
	case PTRC_LAYOUT_HEX:
	case PTRC_LAYOUT_CODE:
	case PTRC_LAYOUT_CALLER:
		v->kind = PTRC_VALUE_HEX;
		break;
	case PTRC_LAYOUT_BOOL:
		v->kind = PTRC_VALUE_BOOL;
		v->u = v->u != 0;
		if (u > 1)
			v->raw = data;
		break;
	case PTRC_LAYOUT_FLOAT:
		if (f->item_size == sizeof(float)) {
			v->kind = PTRC_VALUE_FLOAT;
			memcpy(&single, data, sizeof(single));
			v->f = (double)single;
		} else {
			v->kind = PTRC_VALUE_DOUBLE;
			memcpy(&v->f, data, sizeof(v->f));
		}
		if (isnan(v->f))
			v->raw = data;
		break;
	default:
		v->kind = PTRC_VALUE_UNSIGNED;
		break;
	}
	if (__builtin_expect(f->member_count, 0))
		ptrc_value_name(f, v);
}

#endif
