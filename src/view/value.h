/* SPDX-License-Identifier: MIT */
/*
 * A number, text or bytes out of an event: compared by --where, shown as text and JSON.
 */
#ifndef PTRC_SRC_VIEW_VALUE_H
#define PTRC_SRC_VIEW_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/cli/json.h"

enum ptrc_value_kind {
	/* The event has none. */
	PTRC_VALUE_NONE,
	PTRC_VALUE_SIGNED,
	PTRC_VALUE_UNSIGNED,
	/* Unsigned, shown in hexadecimal. */
	PTRC_VALUE_HEX,
	PTRC_VALUE_BOOL,
	PTRC_VALUE_FLOAT,
	PTRC_VALUE_DOUBLE,
	PTRC_VALUE_TEXT,
	/* Shown as hexadecimal digits. */
	PTRC_VALUE_BYTES,
};

struct ptrc_value {
	enum ptrc_value_kind kind;
	union {
		int64_t i;
		uint64_t u;
		double f;
	};
	/* Text and bytes; they belong to the event. */
	const char *bytes;
	size_t size;
	/* What it was made of, if that is more than what is shown of it. */
	const void *raw;
	size_t raw_size;
};

/*
 * Holds every 64-bit integer and every double.
 * False if it is neither a number nor text that reads as one.
 */
bool ptrc_value_number(const struct ptrc_value *, long double *);

/* The whole text as a number: decimal with or without sign, point and exponent, or 0x. */
bool ptrc_value_read_number(const char *, size_t, long double *);

/* A member; where it does not show every byte, key_hex with all of them follows. Nothing
 * if there is no value. */
void ptrc_value_json(struct ptrc_json *, const char *key, const struct ptrc_value *);

/* Text in quotes, with nothing in it that could disturb a line or a terminal. */
void ptrc_value_text(struct ptrc_buffer *, const struct ptrc_value *);

#endif
