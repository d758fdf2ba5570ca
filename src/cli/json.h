/* SPDX-License-Identifier: MIT */
/*
 * JSON into a buffer. The keys and types are interface: docs/json-schema.md.
 */
#ifndef PTRC_SRC_CLI_JSON_H
#define PTRC_SRC_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "src/cli/output.h"

/*
 * Whether the bytes can be shown as text: UTF-8 without control characters other than
 * tab, line feed and carriage return. A terminating null byte, which many programs
 * record, is allowed for in *size. Everything else is shown as hexadecimal digits.
 */
bool ptrc_text_is_clean(const void *, size_t *size);

/* A quoted string. Bytes that are not UTF-8 become U+FFFD, so the result is always
 * valid. */
void ptrc_json_string(struct ptrc_buffer *, const char *, size_t);

/* U+0080 to U+009F are control characters too, which some terminals obey. Of a character that
 * is UTF-8, or of a string with its null. */
static inline bool ptrc_text_is_high_control(const unsigned char *character)
{
	return character[0] == 0xc2 && character[1] >= 0x80 && character[1] < 0xa0;
}

/*
 * The same without quotes, for columns of text: what could disturb a line or a terminal
 * is escaped, bytes that are not UTF-8 as \xHH.
 */
void ptrc_text_put(struct ptrc_buffer *, const char *, size_t);

/* The same in quotes, which are escaped in it. */
void ptrc_text_quote(struct ptrc_buffer *, const char *, size_t);

/* Whether ptrc_json_string() keeps every byte. */
bool ptrc_json_is_exact(const char *, size_t);

/*
 * The members of objects and the elements of arrays, with the commas between them. A null
 * key is for elements.
 */
struct ptrc_json {
	struct ptrc_buffer *buffer;
	/* Nothing has been put into the object or array that is open. */
	bool is_first;
};

/* The comma, and the key if it is not null; the caller puts the value. */
void ptrc_json_key(struct ptrc_json *, const char *key);
void ptrc_json_open(struct ptrc_json *, const char *key, char bracket);
void ptrc_json_close(struct ptrc_json *, char bracket);
void ptrc_json_text(struct ptrc_json *, const char *key, const char *text);
void ptrc_json_u64(struct ptrc_json *, const char *key, uint64_t);
void ptrc_json_i64(struct ptrc_json *, const char *key, int64_t);
void ptrc_json_bool(struct ptrc_json *, const char *key, bool);
void ptrc_json_time(struct ptrc_json *, const char *key, const struct timespec *);

/*
 * A string member; if bytes of it are lost in JSON, key_hex with all bytes follows, where
 * _hex is added to the key.
 */
void ptrc_json_bytes(struct ptrc_json *, const char *key, const char *, size_t);

/* The member key_hex: lower-case hexadecimal digits. */
void ptrc_json_hex(struct ptrc_json *, const char *key, const void *, size_t);

#endif
