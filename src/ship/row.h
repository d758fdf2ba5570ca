/* SPDX-License-Identifier: MIT */
/*
 * Rows as the server takes them: RowBinary, the columns of schema.c one behind the other. Whatever
 * bytes names and data have, they are sent as they are: a String of the server may have any.
 */
#ifndef PTRC_SRC_SHIP_ROW_H
#define PTRC_SRC_SHIP_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/ship/schema.h"
#include "src/fields/json_text.h"
#include "src/fields/layout.h"

/* The columns with the fields of an event, by what these are. */
enum ptrc_ship_kind {
	PTRC_SHIP_INTS,
	PTRC_SHIP_UINTS,
	PTRC_SHIP_FLOATS,
	PTRC_SHIP_STRINGS,
	PTRC_SHIP_KINDS,
};

struct ptrc_ship_fields {
	enum ptrc_ship_dialect dialect;
	/* Names and values. The current engine has them in turns, all in `names`. */
	struct {
		size_t count;
		struct ptrc_buffer names;
		struct ptrc_buffer values;
	} kinds[PTRC_SHIP_KINDS];
	/* For texts that are put together: of arrays, of values in JSON, and the names of its members. */
	struct ptrc_buffer text;
	struct ptrc_buffer names;
	/* The members of an object. */
	struct ptrc_ship_member {
		const char *name;
		size_t name_size;
		struct ptrc_json_text_member json;
	} * members;
	size_t member_room;
};

/* What every event has. */
struct ptrc_ship_event {
	uint64_t seq;
	int64_t ns;
	/* PTRC_BOUND_UNKNOWN, which the server gets as UINT64_MAX. */
	int64_t bound_ns;
	int32_t pid;
	int32_t tid;
	uint64_t process;
	const char *name;
	size_t name_size;
	const void *data;
	size_t size;
};

void ptrc_ship_put_string(struct ptrc_buffer *, const void *, size_t);
void ptrc_ship_put_u32(struct ptrc_buffer *, uint32_t);
void ptrc_ship_put_u64(struct ptrc_buffer *, uint64_t);

/*
 * Adds a field: whole numbers, addresses and truths as numbers, an enum as its number and as its word, text and
 * bytes as they are, an array as the text of its elements. Of an object of JSON each member is a field, of those
 * with the same name the last one; what is nested in it is text.
 */
void ptrc_ship_add(struct ptrc_ship_fields *, const char *name, const struct ptrc_value *);

/* Adds the fields of data that a layout has taken apart. */
void ptrc_ship_add_decoded(struct ptrc_ship_fields *, const struct ptrc_layout *,
			   const struct ptrc_decoded *);

/* Puts the row of an event, which begins with the bytes of `head`: host, boot and log. The fields are
 * those that were added; then there are none. */
void ptrc_ship_put_event(struct ptrc_buffer *, const struct ptrc_buffer *head,
			 const struct ptrc_ship_event *, struct ptrc_ship_fields *);

void ptrc_ship_fields_free(struct ptrc_ship_fields *);

#endif
