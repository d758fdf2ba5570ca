/* SPDX-License-Identifier: MIT */
/*
 * A layout says what the bytes of an event's data mean: "u64 id, u32 rows, str sql".
 *
 * 	u8 u16 u32 u64    unsigned            f32 f64   IEEE 754
 * 	i8 i16 i32 i64    signed              bool      one byte
 * 	x8 x16 x32 x64    unsigned, shown in hexadecimal
 * 	char[N]           text in N bytes, ends at a null byte
 * 	str               text up to a null byte or the end of the data
 * 	bytes[N] bytes    N bytes; all bytes that are left
 * 	pad[N]            N bytes without meaning; has no name
 *
 * Fields follow each other without gaps. If the first word is "align", they have the gaps
 * that a C compiler leaves in a structure. Numbers are little endian.
 */
#ifndef PTRC_SRC_VIEW_LAYOUT_H
#define PTRC_SRC_VIEW_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/cli/message.h"
#include "src/view/value.h"

struct ptrc_layout;

/* Several layouts, each with the pattern of its events, and the names of all their fields.
 * The position of a name is its number. Starts zeroed. */
struct ptrc_layouts {
	struct ptrc_layout **layouts;
	size_t count;
	char **names;
	size_t name_count;
	/* Fields are looked for in pairs of events, see ptrc_field_find(). */
	bool is_for_pairs;
};

/*
 * Adds a layout for the events whose names match the pattern; if several patterns match,
 * the first one counts. Both texts are copied. Returns false with the reason if the
 * layout is wrong.
 */
bool ptrc_layouts_add(struct ptrc_layouts *, const char *pattern, const char *layout,
		      struct ptrc_cli_reason *why);

void ptrc_layouts_free(struct ptrc_layouts *);

/* The layout for the event with this name, or null. */
const struct ptrc_layout *ptrc_layouts_find(const struct ptrc_layouts *, const char *event);

/* The number of the name of a field, or -1. */
int ptrc_layouts_name(const struct ptrc_layouts *, const char *name);

const char *ptrc_layout_pattern(const struct ptrc_layout *);

enum ptrc_layout_error {
	PTRC_LAYOUT_FITS,
	/* The data ends before the layout does. */
	PTRC_LAYOUT_SHORT,
	/* Data is left over after the layout. */
	PTRC_LAYOUT_REST,
};

struct ptrc_decoded {
	/* A value per field of the layout, in order; of kind NONE if the data ends before the
	 * field. */
	struct ptrc_value *values;
	size_t size;
	enum ptrc_layout_error error;
};

/* Takes the data apart. The values point into the data. *decoded starts zeroed and may be
 * used for the next event, too, which saves allocating. */
void ptrc_layout_decode(const struct ptrc_layout *, const void *data, size_t size,
			struct ptrc_decoded *decoded);

/*
 * Takes only one field out of the data: the one whose name has this number; no value if the layout
 * has no such field. Returns false if that takes all of ptrc_layout_decode(), as the data does not
 * fit, or its fields have no fixed places.
 */
bool ptrc_layout_pick(const struct ptrc_layout *, const void *data, size_t size, int name,
		      struct ptrc_value *);

/* The value of the field whose name has this number; null if the layout has no such
 * field. */
const struct ptrc_value *ptrc_layout_value(const struct ptrc_layout *, const struct ptrc_decoded *,
					   int name);

/* These put the fields in their order: as JSON members ("id":7,"rows":3) or as text (id=7
 * rows=3). */
void ptrc_layout_json(struct ptrc_json *, const struct ptrc_layout *, const struct ptrc_decoded *);
void ptrc_layout_text(struct ptrc_buffer *, const struct ptrc_layout *,
		      const struct ptrc_decoded *);

#endif
