/* SPDX-License-Identifier: MIT */
/*
 * YAML files, as a sequence of libyaml's events. The caller takes one event after the other and refuses events
 * that it does not expect, so the file cannot be nested deeper than the caller's functions. ptrc_yaml_next()
 * refuses anchors, aliases and tags. If the file has a mistake, the process ends with one message,
 * "file:line:column: reason".
 */
#ifndef PTRC_SRC_CONFIG_YAML_FILE_H
#define PTRC_SRC_CONFIG_YAML_FILE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "src/base/nearest.h"
#include "src/config/mark.h"

enum { PTRC_YAML_BYTES_MAX = 256 << 10 };

struct ptrc_yaml {
	const char *name;
	const unsigned char *bytes;
	size_t size;
	/* The end of the message that refuses an anchor: what the user should write instead; or "". */
	const char *anchor_advice;
	yaml_parser_t parser;
	yaml_event_t event;
};

/*
 * Reads a file of at most PTRC_YAML_BYTES_MAX bytes. "-" means standard input. Stores the name by which messages
 * call the file, and the size. The bytes are valid until the next call.
 */
const void *ptrc_yaml_read(const char *path, const char **name, size_t *size);

/*
 * Starts to parse the bytes, which the caller keeps valid. The caller has set .name and .anchor_advice. Returns
 * false if the file has only comments. Otherwise .event is the first event of the document's content.
 */
bool ptrc_yaml_begin(struct ptrc_yaml *, const void *bytes, size_t size);

/* Refuses a second document, and frees the parser. Called when .event is the last of the document's content. */
void ptrc_yaml_end(struct ptrc_yaml *);

/* Moves on to the next event, and returns its type. */
yaml_event_type_t ptrc_yaml_next(struct ptrc_yaml *);

struct ptrc_config_mark ptrc_yaml_mark(const struct ptrc_yaml *);

/* Prints a message about a place in the file of this name, and ends the process. */
void ptrc_yaml_refuse_values(const char *name, const struct ptrc_config_mark *, const char *format,
			     va_list) __attribute__((format(printf, 3, 0), noreturn));
void ptrc_yaml_refuse_at(const char *name, const struct ptrc_config_mark *, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));

void ptrc_yaml_refuse(const struct ptrc_yaml *, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Refuses the current event, which is an unknown key. The message proposes similar keys. */
void ptrc_yaml_refuse_key(const struct ptrc_yaml *, const char *key, const struct ptrc_nearest *)
	__attribute__((noreturn));

bool ptrc_yaml_is_plain(const struct ptrc_yaml *);

/* Whether the current scalar means "no value" in YAML: it is empty, or ~ or null without quotes. */
bool ptrc_yaml_is_null(const struct ptrc_yaml *);

bool ptrc_yaml_is_value(const struct ptrc_yaml *);

/* Returns the kind of the current event in words, such as "a list", for messages. */
const char *ptrc_yaml_what(const struct ptrc_yaml *);

/* Returns a copy of the current scalar, which is never freed. */
const char *ptrc_yaml_text(const struct ptrc_yaml *);

/* Like ptrc_yaml_text(), but refuses true and false without quotes, because YAML does not take them as text. */
const char *ptrc_yaml_quoted_text(const struct ptrc_yaml *, const char *key);

/* Like ptrc_yaml_text(), for a key. Refuses the current event if it is not a scalar. */
const char *ptrc_yaml_key(const struct ptrc_yaml *);

#endif
