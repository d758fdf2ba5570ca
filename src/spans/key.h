/* SPDX-License-Identifier: MIT */
/* Keys of events, for a table: a number, and a value or a thread. Keys of what is equal have the same
 * bytes. */
#ifndef PTRC_SRC_SPANS_KEY_H
#define PTRC_SRC_SPANS_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "src/fields/value.h"
#include "src/query/view.h"

struct ptrc_key {
	unsigned char *bytes;
	size_t size;
	/* Mostly there is enough room here. */
	unsigned char room[64];
};

/* Makes a key that has only the number, such as that of a pair. */
void ptrc_key_begin(struct ptrc_key *, size_t number);

/* Adds a value. Numbers that --where calls equal are the same key: by value, whatever their types are, and
 * of time by value and unit. A text is the same as no number. */
void ptrc_key_add(struct ptrc_key *, const struct ptrc_value *);

/* Adds the thread of the event, which is one of the source of this number. */
void ptrc_key_add_thread(struct ptrc_key *, size_t source, const struct ptrc_view *);

/* Makes the key of the event: the number, and the value of the field, or of a null field the thread,
 * which is one of the source of this number. Returns false if the event has no such field, or its data was
 * cut there. */
bool ptrc_key_make(struct ptrc_key *, size_t number, size_t source, struct ptrc_view *,
		   const struct ptrc_field *);

void ptrc_key_free(struct ptrc_key *);

#endif
