/* SPDX-License-Identifier: MIT */
/*
 * What the bytes of an event's data mean, told by the user: "u64 id, u32 rows, str sql".
 *
 *	u8 u16 u32 u64    unsigned            f32 f64   IEEE 754
 *	i8 i16 i32 i64    signed              bool      one byte
 *	x8 x16 x32 x64    unsigned, shown in hexadecimal
 *	char[N]           text in N bytes, ends at a null byte
 *	str               text up to a null byte or the end of the data
 *	bytes[N] bytes    N bytes; all that is left
 *	pad[N]            N bytes without meaning, without name
 *
 * Numbers are as the machine has them, little endian, one behind the other. "align" as
 * the first word puts each where a C compiler puts it in a structure.
 */
#ifndef PTRC_SRC_VIEW_LAYOUT_H
#define PTRC_SRC_VIEW_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/cli/message.h"
#include "src/view/value.h"

struct ptrc_layout;

/* The layouts by event, and the names of their fields, numbered from 0. Starts zeroed. */
struct ptrc_layouts {
	struct ptrc_layout **layouts;
	size_t count;
	char **names;
	size_t name_count;
};

/*
 * Adds one for the events whose names match the pattern; where several match, the first
 * counts. Both texts are copied. False with the reason if it cannot be.
 */
bool ptrc_layouts_add(struct ptrc_layouts *, const char *pattern, const char *layout,
		      struct ptrc_cli_reason *why);

void ptrc_layouts_free(struct ptrc_layouts *);

/* The layout of an event, or null. */
const struct ptrc_layout *ptrc_layouts_find(const struct ptrc_layouts *,
					    const char *event);

/* The number of a field's name, or -1. */
int ptrc_layouts_name(const struct ptrc_layouts *, const char *name);

const char *ptrc_layout_pattern(const struct ptrc_layout *);

enum ptrc_layout_error {
	PTRC_LAYOUT_FITS,
	/* The data ends before the layout does. */
	PTRC_LAYOUT_SHORT,
	/* There is more data. */
	PTRC_LAYOUT_REST,
};

struct ptrc_decoded {
	/* As many as the layout has fields, in its order; of kind NONE where the data was
	 * too short. */
	struct ptrc_value *values;
	size_t size;
	enum ptrc_layout_error error;
};

/* The values point into the data. *decoded starts zeroed, and is used again. */
void ptrc_layout_decode(const struct ptrc_layout *, const void *data, size_t size,
			struct ptrc_decoded *);

/* The value of the field with the number of a name; null if the layout has none. */
const struct ptrc_value *ptrc_layout_value(const struct ptrc_layout *,
					   const struct ptrc_decoded *, int name);

/* The fields in order: {"id":7,"rows":3} and id=7 rows=3. */
void ptrc_layout_json(struct ptrc_json *, const struct ptrc_layout *,
		      const struct ptrc_decoded *);
void ptrc_layout_text(struct ptrc_buffer *, const struct ptrc_layout *,
		      const struct ptrc_decoded *);

/* "short", "rest"; null if it fits. */
const char *ptrc_layout_error_word(enum ptrc_layout_error);

#endif
