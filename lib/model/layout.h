/* SPDX-License-Identifier: MIT */
/*
 * A layout says what the bytes of an event's data mean: "u64 id, u32 rows, str sql".
 * posixtrace-layout(5) explains the language. This is its grammar; blanks may separate
 * words:
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
 * Fields, bit fields too, have the offsets that a C compiler for x86-64 or aarch64 gives the
 * members of a structure; with "packed", the offsets in a structure with __attribute__((packed)).
 */
#ifndef PTRC_LIB_MODEL_LAYOUT_H
#define PTRC_LIB_MODEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/common.h"

/* The limits of a layout, which posixtrace-layout(5) documents. */
enum {
	PTRC_LAYOUT_TEXT_MAX = 4096,
	PTRC_LAYOUT_FIELDS_MAX = 256,
	/* Bytes of the name of a field or of a member of an enum. */
	PTRC_LAYOUT_NAME_MAX = 64,
	PTRC_LAYOUT_MEMBERS_MAX = 256,
	/* Bytes of the fields whose size the layout gives, and of the gaps between them. */
	PTRC_LAYOUT_SIZE_MAX = 1 << 24,
};

/* The element count of an array that takes the rest of the data. */
#define PTRC_LAYOUT_COUNT_OPEN UINT32_MAX

enum ptrc_layout_kind {
	PTRC_LAYOUT_UNSIGNED,
	PTRC_LAYOUT_SIGNED,
	/* unsigned, shown in hexadecimal */
	PTRC_LAYOUT_HEX,
	PTRC_LAYOUT_FLOAT,
	PTRC_LAYOUT_BOOL,
	/* Text in N bytes, up to the first zero byte. */
	PTRC_LAYOUT_CHARS,
	/* Text up to a zero byte or the end of the data. */
	PTRC_LAYOUT_STRING,
	PTRC_LAYOUT_BYTES,
	PTRC_LAYOUT_PADDING,
	/* The rest of the data is a text of JSON. */
	PTRC_LAYOUT_JSON,
	/* The address of an instruction (CODE) and a return address (CALLER), in hexadecimal like
	 * PTRC_LAYOUT_HEX. */
	PTRC_LAYOUT_CODE,
	PTRC_LAYOUT_CALLER,
};

/* Whether a field of this kind is an address in the code of the process. */
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

/* The word for the unit in a layout; empty for PTRC_UNIT_NONE. */
const char *ptrc_unit_word(enum ptrc_unit);

/* Nanoseconds of one unit; 0 if it is no unit of time. */
uint64_t ptrc_unit_ns(enum ptrc_unit);

/* A name for a value of an enum. A value of a signed type is sign-extended. */
struct ptrc_layout_member {
	const char *name;
	uint64_t value;
};

struct ptrc_layout_field {
	/* Empty for padding, and for JSON that is all of the data. */
	const char *name;
	/* The members of an enum, in the order of the layout; several may have the same value.
	 * NULL: the field is no enum. */
	const struct ptrc_layout_member *members;
	/* Offset of the field in the data. Valid if is_placed, that is, if the layout gives the
	 * size of all fields before this field. */
	size_t at;
	/* Bytes of the field, for an array the bytes of all elements; 0 for a bit field, and if
	 * the size depends on the data. */
	size_t size;
	/* Bytes of one number; for a bit field, the bytes of its type. 1 for fields that are no
	 * numbers. */
	unsigned char item_size;
	/* bits: the number of bits of a bit field, 0 for other fields. bit_at: the first bit of a
	 * bit field in the byte at `at`, where 0 is the lowest bit. A bit field occupies only as
	 * many bytes as its bits need. */
	unsigned char bits;
	unsigned char bit_at;
	/* kind: an enum ptrc_layout_kind. unit: an enum ptrc_unit. */
	unsigned char kind;
	unsigned char unit;
	bool is_placed;
	/* Number of elements of an array, or PTRC_LAYOUT_COUNT_OPEN if the array takes the rest of
	 * the data; 0: the field is no array. */
	uint32_t count;
	uint32_t member_count;
};

/* Whether the field is a call stack: the address of an instruction, then return addresses,
 * innermost first. */
static inline bool ptrc_layout_is_stack(const struct ptrc_layout_field *f)
{
	return f->kind == PTRC_LAYOUT_CODE && f->count == PTRC_LAYOUT_COUNT_OPEN;
}

struct ptrc_layout_fields {
	struct ptrc_layout_field *fields;
	size_t count;
	bool is_packed;
	/* True if the layout gives the size of every field. Then all data of the layout has
	 * `size` bytes or, with the padding at the end of a C structure, `padded_size` bytes. If
	 * false, the data has at least `size` bytes. */
	bool is_fixed;
	/* alignment of the structure in bytes; 1 if it is packed */
	unsigned char alignment;
	size_t size;
	size_t padded_size;
};

/* Whether the layout is a json without a name, which then is its only field. */
static inline bool ptrc_layout_is_json(const struct ptrc_layout_fields *l)
{
	return l->fields->kind == PTRC_LAYOUT_JSON && !*l->fields->name;
}

/* An error in a layout, described for the user. The reason may quote the layout, and so contain
 * any byte. */
struct ptrc_layout_mistake {
	/* position of the error in bytes, counted from 1 */
	size_t column;
	char reason[256];
	/* If the error is an unknown word: that word, and a NULL-terminated list of the words
	 * allowed in its place. For other errors words is NULL. */
	char word[PTRC_LAYOUT_NAME_MAX + 1];
	const char *const *words;
};

/*
 * Parses a layout, which is untrusted and need not end with a zero byte. The fields, which
 * ptrc_layout_fields_free() frees, do not refer to the text. Returns 0, ENOMEM, or EINVAL with the
 * error in the last argument, which may be NULL.
 */
int ptrc_layout_parse(const char *text, size_t size, struct ptrc_layout_fields **,
		      struct ptrc_layout_mistake *) PTRC_MUST_CHECK;

void ptrc_layout_fields_free(struct ptrc_layout_fields *);

/* An iterator over the fields of an event's data. The caller zeroes it to start. */
struct ptrc_layout_walk {
	/* Offset and size in bytes of the current field; the size of a bit field is 0. */
	size_t at, size;
	unsigned char bit_at;
	bool is_short;
	/* number: how many fields the iterator has passed. bits: bits of data up to the end of
	 * these fields. */
	size_t number;
	uint64_t bits;
};

/* Returns the next field of the event's data, which has `size` bytes. NULL: there are no more
 * fields, or the data is too short for the next field (then is_short is set). */
const struct ptrc_layout_field *ptrc_layout_next(const struct ptrc_layout_fields *,
						 const char *data, size_t size,
						 struct ptrc_layout_walk *) PTRC_NONNULL();

/* After the last field: whether the data ends here, possibly after the padding at the end of a
 * structure. */
bool ptrc_layout_ends(const struct ptrc_layout_fields *, const struct ptrc_layout_walk *,
		      size_t size) PTRC_NONNULL();

/* Numbers are copied from the data without swapping bytes. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "layouts are little endian");

/* Reads a number of `bits` bits, at most 64, that starts at bit bit_at (0 is the lowest) of the
 * first byte of `data`. */
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

/* Reads a number of 1, 2, 4 or 8 bytes. Each size has a load of its own, because a load of more
 * bytes than were just stored at once would stall until the stores are done. */
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

/* The value of a number, an element of an array, or a bit field; signed values are sign-extended.
 * Inline for speed: a command may call it for millions of events per second. */
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
