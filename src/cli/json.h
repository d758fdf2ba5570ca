/* SPDX-License-Identifier: MIT */
/*
 * JSON in a buffer: the members of objects and the elements of arrays, with the commas
 * between them. The keys and types are interface: docs/json-schema.md.
 */
#ifndef PTRC_SRC_CLI_JSON_H
#define PTRC_SRC_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "src/cli/buffer.h"

struct ptrc_json {
	struct ptrc_buffer *buffer;
	/* Nothing has been put into the open object or array yet. */
	bool is_first;
};

/* Begins an object that is a line of its own, with the version of its keys; ends it. */
struct ptrc_json ptrc_json_begin(struct ptrc_buffer *);
void ptrc_json_end(struct ptrc_json *);

/* All of these put a member with a key, or an element of an array if the key is null. */

/* Puts the comma and the key only; the caller puts the value. */
void ptrc_json_key(struct ptrc_json *, const char *key);
void ptrc_json_open(struct ptrc_json *, const char *key, char bracket);
void ptrc_json_close(struct ptrc_json *, char bracket);
void ptrc_json_text(struct ptrc_json *, const char *key, const char *text);
void ptrc_json_u64(struct ptrc_json *, const char *key, uint64_t);
void ptrc_json_i64(struct ptrc_json *, const char *key, int64_t);
void ptrc_json_bool(struct ptrc_json *, const char *key, bool);
void ptrc_json_time(struct ptrc_json *, const char *key, const struct timespec *);

/* Puts a string; where JSON cannot hold every byte of it, the member key_hex with all of
 * them follows. */
void ptrc_json_bytes(struct ptrc_json *, const char *key, const char *, size_t);

/* Puts the member key_hex: lower-case hexadecimal digits. */
void ptrc_json_hex(struct ptrc_json *, const char *key, const void *, size_t);

#endif
