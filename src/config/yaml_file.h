/* SPDX-License-Identifier: MIT */
/*
 * Files in YAML. libyaml takes a file apart into events; a reader of such a file asks for one after
 * the other and refuses those that it does not expect, so a file cannot be nested deeper than the
 * functions of its reader are. Anchors, aliases and tags are refused here. A mistake in a file ends
 * the process with one message, "file:line:column: reason".
 */
#ifndef PTRC_SRC_CONFIG_YAML_FILE_H
#define PTRC_SRC_CONFIG_YAML_FILE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "src/base/nearest.h"
#include "src/config/mark.h"

/* The largest file, far above what anybody needs. */
enum { PTRC_YAML_BYTES_MAX = 256 << 10 };

struct ptrc_yaml {
	/* The name of the file in messages. */
	const char *name;
	const unsigned char *bytes;
	size_t size;
	/* What to use in place of anchors. */
	const char *anchor_advice;
	yaml_parser_t parser;
	/* The current event. */
	yaml_event_t event;
};

/*
 * Reads the bytes of a file that is too large if it has more than PTRC_YAML_BYTES_MAX; "-" is
 * standard input. Stores the name of the file for messages, and the size. The bytes stay until the
 * next call.
 */
const void *ptrc_yaml_read(const char *path, const char **name, size_t *size);

/*
 * Begins with the bytes of a file, whose name and advice the caller has set and which stay. Returns
 * whether there is something in it but comments; then the current event is the begin of that.
 */
bool ptrc_yaml_begin(struct ptrc_yaml *, const void *bytes, size_t size);

/* Refuses what follows, and frees the rest. Is called behind the last event of what is in the
 * file. */
void ptrc_yaml_end(struct ptrc_yaml *);

/* Replaces the current event by the next one, and returns its type. */
yaml_event_type_t ptrc_yaml_next(struct ptrc_yaml *);

/* Where the current event begins. */
struct ptrc_config_mark ptrc_yaml_mark(const struct ptrc_yaml *);

/* Prints a message about a place in a file of this name, and ends the process. */
void ptrc_yaml_refuse_values(const char *name, const struct ptrc_config_mark *, const char *format,
			     va_list) __attribute__((format(printf, 3, 0), noreturn));
void ptrc_yaml_refuse_at(const char *name, const struct ptrc_config_mark *, const char *format, ...)
	__attribute__((format(printf, 3, 4), noreturn));

/* Refuses the current event. */
void ptrc_yaml_refuse(const struct ptrc_yaml *, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Refuses an unknown key, which is the current event, with the proposal that was found among those that are known. */
void ptrc_yaml_refuse_key(const struct ptrc_yaml *, const char *key, const struct ptrc_nearest *)
	__attribute__((noreturn));

bool ptrc_yaml_is_plain(const struct ptrc_yaml *);

/* Whether YAML takes the current scalar for "no value": empty, ~ or null without quotes. */
bool ptrc_yaml_is_null(const struct ptrc_yaml *);

/* Whether the current event is a scalar that has a value. */
bool ptrc_yaml_is_value(const struct ptrc_yaml *);

/* What the current event begins, in words. */
const char *ptrc_yaml_what(const struct ptrc_yaml *);

/* A copy of the current scalar; it is never freed. */
const char *ptrc_yaml_text(const struct ptrc_yaml *);

/* Does the same, but refuses true and false without quotes, which YAML takes for values of
 * another kind. */
const char *ptrc_yaml_quoted_text(const struct ptrc_yaml *, const char *key);

/* The same of a key, which the current event has to be. */
const char *ptrc_yaml_key(const struct ptrc_yaml *);

#endif
