/* SPDX-License-Identifier: MIT */
/* The values of Python as the bytes of an event's data, by the layout of its type. */
#ifndef PTRC_BINDINGS_PYTHON_PACK_H
#define PTRC_BINDINGS_PYTHON_PACK_H

#include "bindings/python/posixtrace/_record.h"
#include "lib/model/layout.h"

/* Data of up to this size needs no memory but the stack. */
enum { PTRC_PYTHON_ROOM_BYTES = 512 };

struct ptrc_python_layout {
	/* The name of the event type, a str, for messages. */
	PyObject *event;
	/* NULL: the type has no layout. */
	struct ptrc_layout_fields *fields;
	/* The bytes of the fields whose places the layout gives. */
	size_t least_bytes;
};

/* The data of an event. */
struct ptrc_python_data {
	char *bytes;
	size_t size, capacity;
	char room[PTRC_PYTHON_ROOM_BYTES];
};

/* Parses a layout. False: an exception is set, ValueError if the text is no layout. */
bool ptrc_python_parse(struct ptrc_python_layout *, const char *text, size_t size);

/* Packs the values of all fields but padding, in their order; without a layout the only value, which
 * may be NULL. Whatever the result, the caller frees the data. False: an exception is set. */
bool ptrc_python_pack(const struct ptrc_python_layout *, PyObject *const *values,
		      struct ptrc_python_data *);

static inline void ptrc_python_data_begin(struct ptrc_python_data *d)
{
	d->bytes = d->room;
	d->size = 0;
	d->capacity = sizeof(d->room);
}

static inline void ptrc_python_data_free(struct ptrc_python_data *d)
{
	if (__builtin_expect(d->bytes != d->room, 0))
		PyMem_Free(d->bytes);
}

#endif
