/* SPDX-License-Identifier: MIT */
/* Layouts, each for the events that match a pattern (--decode) or for one type of a trace, and the data that they
 * decode. posixtrace-layout(5) describes their language, lib/model/layout.h has its grammar. */
#ifndef PTRC_SRC_FIELDS_LAYOUT_H
#define PTRC_SRC_FIELDS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/model/layout.h"
#include "src/base/message.h"
#include "src/fields/value.h"

struct ptrc_layout {
	/* NULL for the layout of a trace. */
	char *pattern;
	char *text;
	struct ptrc_layout_fields *model;
	/* For each field, the number of its name; PTRC_LAYOUT_NAMELESS if it has none. */
	int *names;
	/* A field is a place in code, or several. */
	bool has_code;
	/* The index among all layouts. */
	size_t number;
};

/* No name that is looked up has this number. */
enum { PTRC_LAYOUT_NAMELESS = -2 };

/* All layouts, and the names of their fields, whose indexes are their numbers. Starts zeroed. */
struct ptrc_layouts {
	struct ptrc_layout **layouts;
	size_t count;
	char **names;
	size_t name_count;
	/* Fields are looked up for pairs of events, see ptrc_field_find(). */
	bool is_for_pairs;
	/* One of them is a whole JSON text, so data may have any members. */
	bool has_json;
	/* Sources may bring more layouts later: a field that no layout has is accepted, and gets a value once one has
	 * it. */
	bool is_open;
};

/* Adds a layout for the events whose names match the pattern; the first pattern that matches counts. Copies both
 * texts. Returns false with the reason, which starts with the column, if the layout is wrong. */
bool ptrc_layouts_add(struct ptrc_layouts *, const char *pattern, const char *layout,
		      struct ptrc_cli_reason *why);

/* Adds the layout of an event type of a trace, unless it was added before. Returns false as ptrc_layouts_add() does. */
bool ptrc_layouts_add_told(struct ptrc_layouts *, const char *layout, struct ptrc_cli_reason *why);

/* Finds a layout added by ptrc_layouts_add_told(), or returns NULL. */
const struct ptrc_layout *ptrc_layouts_find_told(const struct ptrc_layouts *, const char *layout);

void ptrc_layouts_free(struct ptrc_layouts *);

/* The first layout whose pattern matches the name of the event, or NULL. */
const struct ptrc_layout *ptrc_layouts_find(const struct ptrc_layouts *, const char *event);

/* The number of the name of a field, or -1. */
int ptrc_layouts_name(const struct ptrc_layouts *, const char *name, size_t size);

/* All fields of one name, in all layouts: their units, a bit each (1 << enum ptrc_unit); the elements of the longest
 * array, 0 if none is an array; whether one is JSON, and whether one is no text. */
struct ptrc_layout_uses {
	unsigned int units;
	uint32_t element_count;
	bool is_json;
	bool is_other_than_text;
};

struct ptrc_layout_uses ptrc_layouts_uses(const struct ptrc_layouts *, int name);

/* The field with this index, or NULL after the last one. Its decoded value has the same index. */
const struct ptrc_layout_field *ptrc_layout_field(const struct ptrc_layout *, size_t number);

/* The size of data of the layout, with the padding at the end of a C structure. If data may be longer, this is the
 * least size, and *is_open is set. */
size_t ptrc_layout_size(const struct ptrc_layout *, bool *is_open);

/* Whether data of this size fits, with every field at the offset of the layout. */
bool ptrc_layout_has_places(const struct ptrc_layout *, size_t size);

enum ptrc_layout_error {
	PTRC_LAYOUT_FITS,
	/* The data ends before the layout does. */
	PTRC_LAYOUT_SHORT,
	/* Data is left over after the layout. */
	PTRC_LAYOUT_REST,
	/* The JSON of the layout is not valid, or all of the data is JSON but no object. */
	PTRC_LAYOUT_NOT_JSON,
};

struct ptrc_decoded {
	/* The value of each field; of kind NONE if the data ends before the field. */
	struct ptrc_value *values;
	size_t size;
	enum ptrc_layout_error error;
};

/* Decodes the data. The values point into the data and the layout. *decoded starts zeroed, and can be used again for
 * the next event without allocating. */
void ptrc_layout_decode(const struct ptrc_layout *, const void *data, size_t size,
			struct ptrc_decoded *decoded);

/* Decodes only the field whose name has this number; to no value if there is no such field. Returns false if the
 * fields of this data have no fixed offsets, so that it takes ptrc_layout_decode(). */
bool ptrc_layout_pick(const struct ptrc_layout *, const void *data, size_t size, int name,
		      struct ptrc_value *);

/* A field in data that has one of these sizes. */
struct ptrc_layout_spot {
	size_t at;
	unsigned char bytes;
	bool is_signed;
	size_t sizes[2];
};

/* Returns false unless the field exists, is a single integer other than an enum or a bit field, and has a fixed
 * offset. */
bool ptrc_layout_find_spot(const struct ptrc_layout *, int name, struct ptrc_layout_spot *);

/* The value of the field whose name has this number, or NULL. */
const struct ptrc_value *ptrc_layout_value(const struct ptrc_layout *, const struct ptrc_decoded *,
					   int name);

/* The value of a layout that is one JSON text for all of the data, else NULL. */
const struct ptrc_value *ptrc_layout_whole(const struct ptrc_layout *, const struct ptrc_decoded *);

/* Puts the member "data", an object with a member for each field. */
void ptrc_layout_json(struct ptrc_json *, const struct ptrc_layout *, const struct ptrc_decoded *);

typedef void ptrc_layout_visit(void *arg, const struct ptrc_layout_field *,
			       const struct ptrc_value *);

/* Calls visit() for each place in code that the data has. */
void ptrc_layout_each_code(const struct ptrc_layout *, const struct ptrc_decoded *,
			   ptrc_layout_visit *visit, void *arg);

/* Puts the fields as text, "id=7 rows=3", and calls visit(), if not NULL, after each place in code. */
void ptrc_layout_text_with_code(struct ptrc_buffer *, const struct ptrc_layout *,
				const struct ptrc_decoded *, ptrc_layout_visit *visit, void *arg);

#endif
