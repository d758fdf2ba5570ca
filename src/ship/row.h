/* SPDX-License-Identifier: MIT */
/*
 * Rows of the table `events` in the format RowBinary: the values of the columns in schema.c, in their order.
 * Names and data are sent unchanged, because a String of the server may have any bytes.
 */
#ifndef PTRC_SRC_SHIP_ROW_H
#define PTRC_SRC_SHIP_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/ship/schema.h"
#include "src/fields/json_text.h"
#include "src/fields/layout.h"

/* The columns for the fields of events: a column for each kind of value. */
enum ptrc_ship_kind {
	PTRC_SHIP_INTS,
	PTRC_SHIP_UINTS,
	PTRC_SHIP_FLOATS,
	PTRC_SHIP_STRINGS,
	PTRC_SHIP_KINDS,
};

struct ptrc_ship_fields {
	enum ptrc_ship_dialect dialect;
	/* The fields of each column. The modern dialect takes each name followed by its value, so both are in
	 * `names`. The plain dialect takes an array of names and an array of values. */
	struct {
		size_t count;
		struct ptrc_buffer names;
		struct ptrc_buffer values;
	} kinds[PTRC_SHIP_KINDS];
	/* Scratch space: `text` is for a value as text, `names` for the names of JSON members. */
	struct ptrc_buffer text;
	struct ptrc_buffer names;
	/* Scratch space for the members of a JSON object. */
	struct ptrc_ship_member {
		const char *name;
		size_t name_size;
		struct ptrc_json_text_member json;
	} * members;
	size_t member_room;
};

/* The columns that every event has. */
struct ptrc_ship_event {
	uint64_t seq;
	int64_t ns;
	/* The largest error of .ns, in ns. PTRC_BOUND_UNKNOWN is sent as UINT64_MAX. */
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
 * Adds a field of an event. Integers, addresses and booleans are added as numbers. An enum is added twice, as its
 * number and as its word. Text and bytes are added unchanged, and an array as text. Each member of a JSON object
 * becomes a field; if several members have the same name, the last one is used. A member that is an object or an
 * array is added as text.
 */
void ptrc_ship_add(struct ptrc_ship_fields *, const char *name, const struct ptrc_value *);

void ptrc_ship_add_decoded(struct ptrc_ship_fields *, const struct ptrc_layout *,
			   const struct ptrc_decoded *);

/* Puts the row of an event. It starts with the bytes of `head` (host, boot and log), and has the fields that
 * were added since the last call. */
void ptrc_ship_put_event(struct ptrc_buffer *, const struct ptrc_buffer *head,
			 const struct ptrc_ship_event *, struct ptrc_ship_fields *);

void ptrc_ship_fields_free(struct ptrc_ship_fields *);

#endif
