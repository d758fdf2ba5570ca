/* SPDX-License-Identifier: MIT */
/*
 * Layouts, as --decode gives them, each with the pattern of its events, and the data that they take
 * apart. posixtrace-layout(5) says what can stand in one; lib/model/layout.h has the grammar.
 */
#ifndef PTRC_SRC_FIELDS_LAYOUT_H
#define PTRC_SRC_FIELDS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/model/layout.h"
#include "src/base/message.h"
#include "src/fields/value.h"

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
	/* One of them is JSON and nothing else: then data may have any members. */
	bool has_json;
	/* Traces may tell of more layouts: a field that no layout has is found, too, and has a value as
	 * soon as one has it. */
	bool is_open;
};

/*
 * Adds a layout for the events whose names match the pattern; if several patterns match,
 * the first one counts. Both texts are copied. Returns false with the reason, which begins with the
 * column, if the layout is wrong.
 */
bool ptrc_layouts_add(struct ptrc_layouts *, const char *pattern, const char *layout,
		      struct ptrc_cli_reason *why);

/* The pattern and the text of the layout of this number, in the order in which they were added. Returns false if
 * there is none, or if a trace has told it. */
bool ptrc_layouts_given(const struct ptrc_layouts *, size_t number, const char **pattern,
			const char **text);

/*
 * Adds a layout that a trace tells of its event types, and that therefore has no pattern. Adding it once
 * more does nothing. Returns false with the reason as above.
 */
bool ptrc_layouts_add_told(struct ptrc_layouts *, const char *layout, struct ptrc_cli_reason *why);

/* The layout that was added with this text; null if none was. */
const struct ptrc_layout *ptrc_layouts_find_told(const struct ptrc_layouts *, const char *layout);

void ptrc_layouts_free(struct ptrc_layouts *);

/* The layout with a pattern for the event with this name, or null. */
const struct ptrc_layout *ptrc_layouts_find(const struct ptrc_layouts *, const char *event);

/* The number of the name of a field, of which so many bytes are looked at, or -1. */
int ptrc_layouts_name(const struct ptrc_layouts *, const char *name, size_t size);

/*
 * What the fields are whose name has this number, in all layouts: the units that they have, a bit
 * each (1 << enum ptrc_unit); how many elements the longest array among them has, 0 if none is one;
 * whether one of them is JSON, and one no text.
 */
struct ptrc_layout_uses {
	unsigned int units;
	uint32_t element_count;
	bool is_json;
	bool is_other_than_text;
};

struct ptrc_layout_uses ptrc_layouts_uses(const struct ptrc_layouts *, int name);

/* The field with this number, counted from 0; null behind the last one. A decoded value has the same
 * number. */
const struct ptrc_layout_field *ptrc_layout_field(const struct ptrc_layout *, size_t number);

const char *ptrc_layout_pattern(const struct ptrc_layout *);

/* Its place among the layouts that it was added to, counted from 0. */
size_t ptrc_layout_number(const struct ptrc_layout *);

/* The bytes that data of the layout has, with the padding at the end of a C structure; the least if
 * the layout does not tell, and then *is_open is set. */
size_t ptrc_layout_size(const struct ptrc_layout *, bool *is_open);

/* Whether data of this size fits, and each field stands where the layout says. */
bool ptrc_layout_has_places(const struct ptrc_layout *, size_t size);

enum ptrc_layout_error {
	PTRC_LAYOUT_FITS,
	/* The data ends before the layout does. */
	PTRC_LAYOUT_SHORT,
	/* Data is left over after the layout. */
	PTRC_LAYOUT_REST,
	/* What the layout says is JSON is not; or all of the data is, but not an object. */
	PTRC_LAYOUT_NOT_JSON,
};

struct ptrc_decoded {
	/* A value per field of the layout, in order; of kind NONE if the data ends before the
	 * field. */
	struct ptrc_value *values;
	size_t size;
	enum ptrc_layout_error error;
};

/* Takes the data apart. The values point into the data and the layout. *decoded starts zeroed and
 * may be used for the next event, too, which saves allocating. */
void ptrc_layout_decode(const struct ptrc_layout *, const void *data, size_t size,
			struct ptrc_decoded *decoded);

/*
 * Takes only one field out of the data: the one whose name has this number; no value if the layout
 * has no such field. Returns false if that takes all of ptrc_layout_decode(), as the data does not
 * fit, or its fields have no fixed places.
 */
bool ptrc_layout_pick(const struct ptrc_layout *, const void *data, size_t size, int name,
		      struct ptrc_value *);

/* Where a field stands in all data of the layout, if that has one of these sizes. */
struct ptrc_layout_spot {
	size_t at;
	unsigned char bytes;
	bool is_signed;
	size_t sizes[2];
};

/* Returns false if the layout has no field whose name has this number, if the field is no whole number, or
 * an array, an enum or a bit field, or if fields of the layout have no fixed places. */
bool ptrc_layout_find_spot(const struct ptrc_layout *, int name, struct ptrc_layout_spot *);

/* The value of the field whose name has this number; null if the layout has no such
 * field. */
const struct ptrc_value *ptrc_layout_value(const struct ptrc_layout *, const struct ptrc_decoded *,
					   int name);

/* The value that is all of the data, which is JSON; null if the layout has fields. */
const struct ptrc_value *ptrc_layout_whole(const struct ptrc_layout *, const struct ptrc_decoded *);

/* These put the fields in their order: as JSON, a member "data" that is an object with one member
 * for each; or as text (id=7 rows=3). */
void ptrc_layout_json(struct ptrc_json *, const struct ptrc_layout *, const struct ptrc_decoded *);
void ptrc_layout_text(struct ptrc_buffer *, const struct ptrc_layout *,
		      const struct ptrc_decoded *);

/* Whether a field of the layout is a place in code, or several. */
bool ptrc_layout_has_code(const struct ptrc_layout *);

typedef void ptrc_layout_visit(void *arg, const struct ptrc_layout_field *,
			       const struct ptrc_value *);

/* Calls visit() for each of those fields that the data has, in their order. */
void ptrc_layout_each_code(const struct ptrc_layout *, const struct ptrc_decoded *,
			   ptrc_layout_visit *visit, void *arg);

/* Puts the text, and calls visit() behind each of those fields. */
void ptrc_layout_text_with_code(struct ptrc_buffer *, const struct ptrc_layout *,
				const struct ptrc_decoded *, ptrc_layout_visit *visit, void *arg);

#endif
