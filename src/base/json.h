/* SPDX-License-Identifier: MIT */
/* Puts JSON into a buffer, with commas between members and elements. Programs rely on the keys and the types of
 * the values, which docs/json-schema.md describes. */
#ifndef PTRC_SRC_BASE_JSON_H
#define PTRC_SRC_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "src/base/buffer.h"

struct ptrc_json {
	struct ptrc_buffer *buffer;
	/* Nothing has been put into the open object or array yet. */
	bool is_first;
};

/* Start and end an object on a line of its own. Its first member is the version of the keys. */
struct ptrc_json ptrc_json_begin(struct ptrc_buffer *);
void ptrc_json_end(struct ptrc_json *);

/* The following functions put a member with a key or, if the key is NULL, an element of an array. ptrc_json_key()
 * puts only the comma and the key; the caller then puts the value. */
void ptrc_json_key(struct ptrc_json *, const char *key);
void ptrc_json_open(struct ptrc_json *, const char *key, char bracket);
void ptrc_json_close(struct ptrc_json *, char bracket);
void ptrc_json_text(struct ptrc_json *, const char *key, const char *text);
void ptrc_json_u64(struct ptrc_json *, const char *key, uint64_t);
void ptrc_json_i64(struct ptrc_json *, const char *key, int64_t);
void ptrc_json_bool(struct ptrc_json *, const char *key, bool);
void ptrc_json_time(struct ptrc_json *, const char *key, const struct timespec *);

/* Puts the bytes as a string. If some are not UTF-8, which JSON requires, also calls ptrc_json_hex(). */
void ptrc_json_bytes(struct ptrc_json *, const char *key, const char *, size_t);

/* Puts a member whose name is the key with _hex appended, with all bytes as lower-case hexadecimal digits. */
void ptrc_json_hex(struct ptrc_json *, const char *key, const void *, size_t);

/* Puts an address as a string such as "0x7f00". */
void ptrc_json_address(struct ptrc_json *, const char *key, uint64_t);

#endif
