/* SPDX-License-Identifier: MIT */
/* JSON texts (RFC 8259) that programs have recorded: checking them, finding values in them, and printing them. */
#ifndef PTRC_SRC_FIELDS_JSON_TEXT_H
#define PTRC_SRC_FIELDS_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"

/* The greatest depth of nested arrays and objects. */
enum { PTRC_JSON_TEXT_DEPTH_MAX = 128 };

/* Whether the bytes are one valid JSON text, with nothing but blanks around it. This is stricter than the RFC: a
 * text that has an escape of half a surrogate pair, or is nested too deeply, is not valid. */
bool ptrc_json_text_is_valid(const char *, size_t size);

/* Finds the value at a path such as ".user.name" or ".list[2].id" in a valid text. If an object has several members
 * of the same name, finds the last of them. Returns false if there is no such value. */
bool ptrc_json_text_find(const char *, size_t size, const char *path, const char **value,
			 size_t *value_size);

/* A member of an object: its name, in quotes, and its value. */
struct ptrc_json_text_member {
	const char *name;
	size_t name_size;
	const char *value;
	size_t value_size;
};

/* Iterates over the members of an object in a valid text. For the first call, *at points to the object; each call
 * moves it past a member. Returns false after the last member, or if the value at *at is no object. */
bool ptrc_json_text_next_member(const char **at, const char *end, struct ptrc_json_text_member *);

/* Whether the text is a path into a JSON text: one or more of .KEY and [N]. A key consists of letters, digits and
 * underscores. */
bool ptrc_json_text_is_path(const char *);

/* Appends a valid JSON text on one line, without blanks between values. Escapes characters that control
 * terminals; if is_for_people, also characters that change the direction of text or end a line. */
void ptrc_json_text_put(struct ptrc_buffer *, const char *, size_t size, bool is_for_people);

/* Appends the characters of a valid JSON string, which is given with its quotes. Leaves the quotes out and decodes
 * escapes. */
void ptrc_json_text_unescape(struct ptrc_buffer *, const char *, size_t size);

#endif
