/* SPDX-License-Identifier: MIT */
/*
 * A layout says what the bytes of an event's data mean: "u64 id, u32 rows, str sql".
 * posixtrace-layout(5) explains the language. This is its grammar; blanks may stand between words:
 *
 * 	layout   [ "packed" ] field { "," field }
 * 	field    type name [ ":" bits ] [ unit ]
 * 	         "pad" "[" N "]"
 * 	         "json" [ name ]
 * 	type     ( number | "enum" [ integer ] "{" member { "," member } [ "," ] "}" ) [ "[" [ N ] "]" ]
 * 	         "char" "[" N "]" | "str" | "bytes" [ "[" N "]" ]
 * 	number   integer | "x8" | "x16" | "x32" | "x64" | "f32" | "f64" | "bool" | "code" | "caller"
 * 	integer  "u8" | "u16" | "u32" | "u64" | "i8" | "i16" | "i32" | "i64"
 * 	member   name [ "=" [ "-" ] ( digits | "0x" digits ) ]
 * 	unit     "ns" | "us" | "ms" | "s" | "B" | "KiB" | "MiB" | "percent" | "count"
 *
 * Fields stand where a C compiler for x86-64 or aarch64 puts the members of a structure, bit fields
 * too; with "packed", where it puts them in a structure with __attribute__((packed)).
 */
#ifndef PTRC_LIB_MODEL_LAYOUT_H
#define PTRC_LIB_MODEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/common.h"

/* Limits, which posixtrace-layout(5) tells. */
enum {
	PTRC_LAYOUT_TEXT_MAX = 4096,
	PTRC_LAYOUT_FIELDS_MAX = 256,
	/* Of the name of a field, or of a member of an enum. */
	PTRC_LAYOUT_NAME_MAX = 64,
	/* The members of one enum. */
	PTRC_LAYOUT_MEMBERS_MAX = 256,
	/* The fields whose size the layout gives, with the gaps between them. */
	PTRC_LAYOUT_SIZE_MAX = 1 << 24,
};

/* The elements of an array that takes all that is left of the data. */
#define PTRC_LAYOUT_COUNT_OPEN UINT32_MAX

enum ptrc_layout_kind {
	PTRC_LAYOUT_UNSIGNED,
	PTRC_LAYOUT_SIGNED,
	/* Unsigned, shown in hexadecimal. */
	PTRC_LAYOUT_HEX,
	PTRC_LAYOUT_FLOAT,
	PTRC_LAYOUT_BOOL,
	/* Text in N bytes, which ends at a null byte. */
	PTRC_LAYOUT_CHARS,
	/* Text up to a null byte or the end of the data. */
	PTRC_LAYOUT_STRING,
	PTRC_LAYOUT_BYTES,
	PTRC_LAYOUT_PADDING,
	/* The rest of the data is one text of JSON. */
	PTRC_LAYOUT_JSON,
	/* As PTRC_LAYOUT_HEX: the address of an instruction, and that to which a call returns. */
	PTRC_LAYOUT_CODE,
	PTRC_LAYOUT_CALLER,
};

/* Whether such a field is a place in the code of the process. */
static inline bool ptrc_layout_is_code(enum ptrc_layout_kind kind)
{
	return kind == PTRC_LAYOUT_CODE || kind == PTRC_LAYOUT_CALLER;
}

enum ptrc_unit {
	PTRC_UNIT_NONE,
	PTRC_UNIT_NS,
	PTRC_UNIT_US,
	PTRC_UNIT_MS,
	PTRC_UNIT_S,
	PTRC_UNIT_B,
	PTRC_UNIT_KIB,
	PTRC_UNIT_MIB,
	PTRC_UNIT_PERCENT,
	PTRC_UNIT_COUNT,
};

/* The word for the unit in a layout; an empty text for PTRC_UNIT_NONE. */
const char *ptrc_unit_word(enum ptrc_unit);

/* How many nanoseconds one of the unit is; 0 if it is not one of time. */
uint64_t ptrc_unit_ns(enum ptrc_unit);

/* A name for a value of an enum. The value is that of the field: of a signed one as an int64_t. */
struct ptrc_layout_member {
	const char *name;
	uint64_t value;
};

struct ptrc_layout_field {
	/* Empty: padding, or JSON that is all of the data. */
	const char *name;
	/* Of an enum, in the order of the layout; several may have the same value. */
	const struct ptrc_layout_member *members;
	/* Where it stands, if is_placed: all fields before it have a size. */
	size_t at;
	/* The bytes of the field, of an array in all; 0: the data gives them, or it is a bit field. */
	size_t size;
	/* The bytes of one number, of a bit field those of its type; 1 for what is no number. */
	unsigned char item_size;
	/* Of a bit field: how many bits it has, and in which of the byte at `at` it begins, counted
	 * from the lowest. Else 0. A bit field may reach into so many bytes as that takes, and no
	 * further. */
	unsigned char bits;
	unsigned char bit_at;
	/* enum ptrc_layout_kind, enum ptrc_unit */
	unsigned char kind;
	unsigned char unit;
	bool is_placed;
	/* The elements of an array, or PTRC_LAYOUT_COUNT_OPEN; 0: it is none. */
	uint32_t count;
	uint32_t member_count;
};

/* Whether the field is a stack: the address of an instruction, and behind it those to which the calls
 * return that led there, innermost first. */
static inline bool ptrc_layout_is_stack(const struct ptrc_layout_field *f)
{
	return f->kind == PTRC_LAYOUT_CODE && f->count == PTRC_LAYOUT_COUNT_OPEN;
}

struct ptrc_layout_fields {
	struct ptrc_layout_field *fields;
	size_t count;
	/* Fields follow each other without gaps. */
	bool is_packed;
	/* Every field has a size; then all data of the layout has `size` bytes or, with the padding
	 * at the end of a C structure, `padded_size`. Else `size` is the least that the data must
	 * have. */
	bool is_fixed;
	/* What the structure is aligned to; 1 if it is packed. */
	unsigned char alignment;
	size_t size;
	size_t padded_size;
};

/* What of a layout is wrong, for people. The reason may quote the layout, and so hold any byte. */
struct ptrc_layout_mistake {
	/* Counted in bytes from 1. */
	size_t column;
	char reason[256];
	/* If a word stands where only some words can: that word, and which those are, one after the
	 * other up to a null pointer. Else words is null. */
	char word[PTRC_LAYOUT_NAME_MAX + 1];
	const char *const *words;
};

/*
 * Reads a layout, of which nothing is trusted: it may be any bytes, and need not end with a null
 * byte. Stores the fields, which ptrc_layout_fields_free() frees and which do not refer to the
 * text. Returns 0, EINVAL with the mistake, which may be null, or ENOMEM.
 */
int ptrc_layout_parse(const char *text, size_t size, struct ptrc_layout_fields **,
		      struct ptrc_layout_mistake *) PTRC_MUST_CHECK;

void ptrc_layout_fields_free(struct ptrc_layout_fields *);

/*
 * Works out where the field stands if the fields before it take so many bits of the data: stores
 * its offset and its first bit in there, and adds to *bits what is skipped for it and what it
 * takes, without what the data gives. The fields are those of ptrc_layout_parse(), which has done
 * this for those that are_placed.
 */
void ptrc_layout_place(const struct ptrc_layout_fields *, const struct ptrc_layout_field *,
		       uint64_t *bits, size_t *at, unsigned char *bit_at);

/* A way through the fields that data has. Starts zeroed. */
struct ptrc_layout_walk {
	/* Where the field is, and the bytes that it takes; 0 for a bit field. */
	size_t at, size;
	unsigned char bit_at;
	/* The data ends before the next field does. */
	bool is_short;
	/* How many fields have been passed, and what they take of the data. */
	size_t number;
	uint64_t bits;
};

/* The next field of data of that size; null if there is none, or if the data is too short for it. */
const struct ptrc_layout_field *ptrc_layout_next(const struct ptrc_layout_fields *,
						 const char *data, size_t size,
						 struct ptrc_layout_walk *) PTRC_NONNULL();

/* After the last field: whether the data ends there, or with the padding at the end of a structure. */
bool ptrc_layout_ends(const struct ptrc_layout_fields *, const struct ptrc_layout_walk *,
		      size_t size) PTRC_NONNULL();

/* Numbers are copied from the data without swapping bytes. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "layouts are little endian");

/* So many bits from one of the first byte on; at most 64. */
static inline uint64_t ptrc_layout_bits(const char *data, unsigned int bit_at, unsigned int bits)
{
	size_t bytes = (bit_at + bits + 7) / 8;
	uint64_t u = 0;

	memcpy(&u, data, bytes < sizeof(u) ? bytes : sizeof(u));
	u >>= bit_at;
	if (bytes > sizeof(u))
		u |= (uint64_t)(unsigned char)data[sizeof(u)] << (64 - bit_at);
	return bits < 64 ? u & ((UINT64_C(1) << bits) - 1) : u;
}

/* A number of 1, 2, 4 or 8 bytes. Each is read by itself: what was stored piece by piece cannot be loaded as
 * a whole at once. */
static inline uint64_t ptrc_layout_load(const char *data, size_t size)
{
	uint64_t whole;
	uint32_t half;
	uint16_t quarter;

	switch (size) {
	case sizeof(whole):
		memcpy(&whole, data, sizeof(whole));
		return whole;
	case sizeof(half):
		memcpy(&half, data, sizeof(half));
		return half;
	case sizeof(quarter):
		memcpy(&quarter, data, sizeof(quarter));
		return quarter;
	default:
		return (unsigned char)*data;
	}
}

/* The number of a field, an element of one, or a bit field, with the bits of a signed one extended. Is
 * inline because millions of events per second pass here. */
static inline uint64_t ptrc_layout_number_of(const struct ptrc_layout_field *f, const char *data,
					     unsigned int bit_at)
{
	unsigned int unused_bits = 64 - (f->bits ? f->bits : 8 * (unsigned int)f->item_size);
	uint64_t u;

	if (__builtin_expect(f->bits, 0))
		u = ptrc_layout_bits(data, bit_at, f->bits);
	else
		u = ptrc_layout_load(data, f->item_size);
	if (f->kind == PTRC_LAYOUT_SIGNED)
		u = (uint64_t)((int64_t)(u << unused_bits) >> unused_bits);
	return u;
}

#endif
