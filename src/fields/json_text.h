/* SPDX-License-Identifier: MIT */
/* Texts of JSON (RFC 8259) that programs have recorded: whether they are valid, what stands in them
 * at a path, and how they are shown. */
#ifndef PTRC_SRC_FIELDS_JSON_TEXT_H
#define PTRC_SRC_FIELDS_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"

/* How deep arrays and objects may be nested. */
enum { PTRC_JSON_TEXT_DEPTH_MAX = 128 };

/*
 * Whether the bytes are one valid text of JSON, with nothing but blanks around it. Is stricter than
 * the RFC: escapes of halves of surrogate pairs, and values that are nested too deep, are not
 * valid. Takes time in proportion to the size, and no memory.
 */
bool ptrc_json_text_is_valid(const char *, size_t size);

/*
 * Finds the value at a path such as ".user.name" or ".list[2].id" in a valid text. Of members that
 * have the same name, the last one counts. Returns false if there is none.
 */
bool ptrc_json_text_find(const char *, size_t size, const char *path, const char **value,
			 size_t *value_size);

/* A member of an object: its name, in quotes, and its value. */
struct ptrc_json_text_member {
	const char *name;
	size_t name_size;
	const char *value;
	size_t value_size;
};

/*
 * Goes through the members of an object in a valid text: *at is the begin of the object at first, and
 * is moved behind the member. Returns false if there is none any more, or if it is no object.
 */
bool ptrc_json_text_next_member(const char **at, const char *end, struct ptrc_json_text_member *);

/* Whether the text is a path: .KEY and [N] one after the other, at least one. A key has letters,
 * digits and underscores. */
bool ptrc_json_text_is_path(const char *);

/* Puts a valid text on one line, without blanks between the values. What would command a terminal
 * is escaped as JSON does it; for people also what changes the direction of text or ends a line. */
void ptrc_json_text_put(struct ptrc_buffer *, const char *, size_t size, bool is_for_people);

/* Puts what a string of JSON, which is valid and in quotes, says. */
void ptrc_json_text_unescape(struct ptrc_buffer *, const char *, size_t size);

#endif
