/* SPDX-License-Identifier: MIT */
/* Puts JSON into a buffer, with commas between members and elements. Programs rely on keys and
 * types: docs/json-schema.md describes them. */
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

/* Start and end an object on a line of its own, whose first member is the version of the keys. */
struct ptrc_json ptrc_json_begin(struct ptrc_buffer *);
void ptrc_json_end(struct ptrc_json *);

/* The following functions put a member with a key or, if the key is NULL, an element of an array.
 * ptrc_json_key() puts only comma and key; the caller puts the value. */
void ptrc_json_key(struct ptrc_json *, const char *key);
void ptrc_json_open(struct ptrc_json *, const char *key, char bracket);
void ptrc_json_close(struct ptrc_json *, char bracket);
void ptrc_json_text(struct ptrc_json *, const char *key, const char *text);
void ptrc_json_u64(struct ptrc_json *, const char *key, uint64_t);
void ptrc_json_i64(struct ptrc_json *, const char *key, int64_t);
void ptrc_json_bool(struct ptrc_json *, const char *key, bool);
void ptrc_json_time(struct ptrc_json *, const char *key, const struct timespec *);

/* Puts a string. If the bytes are not UTF-8, which JSON cannot hold, a member key_hex with all
 * bytes follows. */
void ptrc_json_bytes(struct ptrc_json *, const char *key, const char *, size_t);

/* Puts only the member key_hex, in lower-case hexadecimal digits. */
void ptrc_json_hex(struct ptrc_json *, const char *key, const void *, size_t);

#endif
