/* SPDX-License-Identifier: MIT */
/* The value of a field of an event: a number, text or bytes. --where compares values; they
 * are shown as text and as JSON. */
#ifndef PTRC_SRC_VIEW_VALUE_H
#define PTRC_SRC_VIEW_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/cli/json.h"

enum ptrc_value_kind {
	/* The event does not have the field. */
	PTRC_VALUE_NONE,
	PTRC_VALUE_SIGNED,
	PTRC_VALUE_UNSIGNED,
	/* An unsigned number that is shown in hexadecimal. */
	PTRC_VALUE_HEX,
	PTRC_VALUE_BOOL,
	PTRC_VALUE_FLOAT,
	PTRC_VALUE_DOUBLE,
	PTRC_VALUE_TEXT,
	/* Bytes that are shown as hexadecimal digits. */
	PTRC_VALUE_BYTES,
};

/* What a value measures; a bit each, so that several make a set. */
enum ptrc_dimension {
	PTRC_DIMENSION_NUMBER = 1,
	PTRC_DIMENSION_DURATION = 2,
	PTRC_DIMENSION_MOMENT = 4,
	PTRC_DIMENSION_TEXT = 8,
	PTRC_DIMENSION_BOOL = 16,
};

struct ptrc_value {
	enum ptrc_value_kind kind;
	union {
		int64_t i;
		uint64_t u;
		double f;
	};
	/* The text or the bytes; they belong to the event. */
	const char *bytes;
	size_t size;
	/* All bytes of the value in the event; null if what is shown tells them all. */
	const void *raw;
	size_t raw_size;
};

/*
 * Stores the value as a number; a long double holds every 64-bit integer and every
 * double. Returns false if the value is neither a number nor text that reads as one.
 */
bool ptrc_value_number(const struct ptrc_value *, long double *);

/* Reads the whole text as a number: decimal with or without sign, point and exponent, or
 * 0x. */
bool ptrc_value_read_number(const char *, size_t, long double *);

/* Puts a member, and, if that cannot show every byte, a member key_hex with all of them. Puts
 * nothing if there is no value. */
void ptrc_value_json(struct ptrc_json *, const char *key, const struct ptrc_value *);

/* Puts the value for people to read; see ptrc_text_quote() for text. */
void ptrc_value_text(struct ptrc_buffer *, const struct ptrc_value *);

#endif
