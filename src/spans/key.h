/* SPDX-License-Identifier: MIT */
/* Keys for hash tables, as bytes: a number, then the value of an event's field or the event's thread. Equal
 * values give equal bytes. */
#ifndef PTRC_SRC_SPANS_KEY_H
#define PTRC_SRC_SPANS_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "src/fields/value.h"
#include "src/query/view.h"

/* The name of the member that is the key of a pair if both of its events have it and the user named no other. */
#define PTRC_PAIR_KEY "key"

struct ptrc_key {
	unsigned char *bytes;
	size_t size;
	/* The bytes of a short key, which needs no allocation. */
	unsigned char room[64];
};

/* Starts a key with a number, such as that of a pair. */
void ptrc_key_begin(struct ptrc_key *, size_t number);

/* Adds a value to the key. Numbers that --where calls equal give the same bytes, whatever
 * their types; durations do so whatever their units. A text never gives the bytes of a number. */
void ptrc_key_add(struct ptrc_key *, const struct ptrc_value *);

/* Makes the key of an event: `number`, and the value of the field. If the field is NULL, the key is `number`, the
 * thread, and the number of the source. Returns false if the event lacks the field (or it is null), or lacks a part
 * of the field because its data was cut. */
bool ptrc_key_make(struct ptrc_key *, size_t number, size_t source, struct ptrc_view *,
		   const struct ptrc_field *);

void ptrc_key_free(struct ptrc_key *);

#endif
