/* SPDX-License-Identifier: MIT */
/* Keys for hash tables: a number, and a value of an event or its thread. Equal values give equal bytes. */
#ifndef PTRC_SRC_SPANS_KEY_H
#define PTRC_SRC_SPANS_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "src/fields/value.h"
#include "src/query/view.h"

struct ptrc_key {
	unsigned char *bytes;
	size_t size;
	/* Long enough for most keys. */
	unsigned char room[64];
};

/* Starts a key with the number, such as that of a pair. */
void ptrc_key_begin(struct ptrc_key *, size_t number);

/* Adds a value. Numbers that --where calls equal add the same bytes, whatever their types, and durations whatever
 * their units. A text never equals a number. */
void ptrc_key_add(struct ptrc_key *, const struct ptrc_value *);

/* Adds the thread of the event, which is one of the source of this number. */
void ptrc_key_add_thread(struct ptrc_key *, size_t source, const struct ptrc_view *);

/* Makes the key of an event: the number and the value of the field; if the field is NULL, the thread and the number of
 * its source. Returns false if the event has no such field, or its data was cut there. */
bool ptrc_key_make(struct ptrc_key *, size_t number, size_t source, struct ptrc_view *,
		   const struct ptrc_field *);

void ptrc_key_free(struct ptrc_key *);

#endif
