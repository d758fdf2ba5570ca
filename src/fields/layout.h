/* SPDX-License-Identifier: MIT */
/* Layouts, which describe the fields in the data of events, and the decoding of data by layouts. A layout is
 * for the events whose names match a pattern (--decode), or for one event type of a trace.
 * posixtrace-layout(5) describes the language of layouts, and lib/model/layout.h has its grammar. */
#ifndef PTRC_SRC_FIELDS_LAYOUT_H
#define PTRC_SRC_FIELDS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/model/layout.h"
#include "src/base/message.h"
#include "src/fields/value.h"

struct ptrc_layout {
	/* The pattern of --decode; NULL if the layout comes from a trace. */
	char *pattern;
	char *text;
	struct ptrc_layout_fields *model;
	/* For each field of the layout, the number of its name (its index in ptrc_layouts.names);
	 * PTRC_LAYOUT_NAMELESS if it has no name. */
	int *names;
	/* All data of an event is one JSON text. */
	bool is_json;
	/* Whether a field is an address in the code of the program, or an array of such addresses. */
	bool has_code;
	/* The index of this layout among all layouts. */
	size_t number;
	/* Set while an expression is read for which this layout does not count: it is for no event that has this
	 * layout. */
	bool is_left_out;
};

/* The number of a field without a name; ptrc_layouts_name() never returns it. */
enum { PTRC_LAYOUT_NAMELESS = -2 };

/* All layouts, and the names of their fields. The number of a name is its index in `names`. Starts zeroed. */
struct ptrc_layouts {
	struct ptrc_layout **layouts;
	size_t count;
	char **names;
	size_t name_count;
	/* Set if the events are pairs: ptrc_field_find() then reads names of fields such as
	 * duration and begin.pid. */
	bool is_for_pairs;
	/* Set if, by some layout that is not left out, all data of an event is one JSON text. Such data may have any members. */
	bool has_json;
	/* Set if logs and sessions that are opened later may bring more layouts. An expression may then name a
	 * field that no layout has: the field gets a value once a layout has it. */
	bool is_open;
	/* Set while an expression is read that may name members that no layout has: who uses it reports those that no
	 * event has. */
	bool takes_unknown;
};

/* Before an expression is read for which only some layouts count: ptrc_layouts_leave_out() leaves out all, and
 * ptrc_layouts_take() takes in the one with this index in `layouts`. ptrc_layouts_take_all() takes in all again. */
void ptrc_layouts_leave_out(struct ptrc_layouts *);
void ptrc_layouts_take(struct ptrc_layouts *, size_t number);
void ptrc_layouts_take_all(struct ptrc_layouts *);

/* Adds a layout for the events whose names match the pattern. If an event matches several patterns, it gets the
 * layout that was added first. Copies both texts. If the layout is wrong, returns false, and stores the reason,
 * which starts with the column. */
bool ptrc_layouts_add(struct ptrc_layouts *, const char *pattern, const char *layout,
		      struct ptrc_cli_reason *why);

/* Adds the layout that a trace has for an event type, unless the same layout was added before. If the layout is wrong,
 * returns false, and stores the reason. */
bool ptrc_layouts_add_told(struct ptrc_layouts *, const char *layout, struct ptrc_cli_reason *why);

/* Returns the layout with this text that ptrc_layouts_add_told() has added, or NULL. */
const struct ptrc_layout *ptrc_layouts_find_told(const struct ptrc_layouts *, const char *layout);

void ptrc_layouts_free(struct ptrc_layouts *);

/* The first layout whose pattern matches the name of the event type, or NULL. */
const struct ptrc_layout *ptrc_layouts_find(const struct ptrc_layouts *, const char *event);

/* The number of a field's name, which is its index in `names`; -1 if no layout has a field of this name. */
int ptrc_layouts_name(const struct ptrc_layouts *, const char *name, size_t size);

/* Properties of all fields of one name, in all layouts that are not left out or, if none of these has such a field, in
 * all. `dimensions` is the set of the dimensions
 * (PTRC_DIMENSION_*) of their values, `element_dimensions` the same with those of the elements of arrays.
 * `element_count` is the number of elements of the longest array, or 0 if no field is an array. `is_json` is set if
 * one of the fields is JSON. */
struct ptrc_layout_uses {
	unsigned int dimensions;
	unsigned int element_dimensions;
	uint32_t element_count;
	bool is_json;
};

struct ptrc_layout_uses ptrc_layouts_uses(const struct ptrc_layouts *, int name);

struct ptrc_nearest;

/* Whether some field whose name has the number `name`, in one of the same layouts, can have the value `text`, because the field is no enum, or
 * is an enum with a member named `text`. Offers the names of all members to `nearest`. */
bool ptrc_layouts_allow_text(const struct ptrc_layouts *, int name, const char *text,
			     struct ptrc_nearest *nearest);

/* The field with this index in the layout, or NULL after the last field. The decoded value of the field has the
 * same index. */
const struct ptrc_layout_field *ptrc_layout_field(const struct ptrc_layout *, size_t number);

/* The size of data that the layout describes, with the padding at the end of a C structure. If data may be
 * longer, this is the least size, and *is_open is set. */
size_t ptrc_layout_size(const struct ptrc_layout *, bool *is_open);

/* Whether in data of this size each field is at the fixed offset that the layout gives it. */
bool ptrc_layout_has_places(const struct ptrc_layout *, size_t size);

enum ptrc_layout_error {
	PTRC_LAYOUT_FITS,
	/* The data ends before the layout does. But an event without data fits a layout of one JSON text. */
	PTRC_LAYOUT_SHORT,
	/* The data has bytes after the last field. */
	PTRC_LAYOUT_REST,
	/* A field of type json is not valid JSON; or all data should be one JSON text, but is not a JSON object. */
	PTRC_LAYOUT_NOT_JSON,
};

struct ptrc_decoded {
	/* The value of each field. Its kind is PTRC_VALUE_NONE for padding, if the data ends before the field, and for
	 * a json field that is not valid and all fields after it. `size`: the number of allocated elements. */
	struct ptrc_value *values;
	size_t size;
	enum ptrc_layout_error error;
};

/* Decodes the data. The values point into the data and the layout. *decoded starts zeroed. It can be used again
 * for the next event, which then needs no new memory. */
void ptrc_layout_decode(const struct ptrc_layout *, const void *data, size_t size,
			struct ptrc_decoded *decoded);

/* Decodes only the field whose name has this number. Without such a field, stores a value of kind NONE. Returns
 * false if the fields of this data have no fixed offsets; the caller then uses ptrc_layout_decode(). */
bool ptrc_layout_pick(const struct ptrc_layout *, const void *data, size_t size, int name,
		      struct ptrc_value *);

/* The place of an integer in data whose size is one of .sizes. */
struct ptrc_layout_spot {
	size_t at;
	unsigned char bytes;
	bool is_signed;
	size_t sizes[2];
};

/* Finds the place of the field whose name has this number. Returns false unless the field exists, is a single
 * integer other than an enum or a bit field, and has a fixed offset. */
bool ptrc_layout_find_spot(const struct ptrc_layout *, int name, struct ptrc_layout_spot *);

/* The value of the field whose name has this number, or NULL if the layout has no such field. */
const struct ptrc_value *ptrc_layout_value(const struct ptrc_layout *, const struct ptrc_decoded *,
					   int name);

/* The value of all the data, if the layout says that it is one JSON text; else NULL. */
const struct ptrc_value *ptrc_layout_whole(const struct ptrc_layout *, const struct ptrc_decoded *);

/* Puts the JSON member "data": the data itself if it is one JSON text, else an object with a member for each field. */
void ptrc_layout_json(struct ptrc_json *, const struct ptrc_layout *, const struct ptrc_decoded *);

#endif
