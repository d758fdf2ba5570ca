/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/json.h"

#include <string.h>

/* Puts a comma, except before the first member, and the key with the suffix. Returns the buffer, to which the
 * caller adds the value. */
static struct ptrc_buffer *member(struct ptrc_json *j, const char *key, const char *suffix)
{
	if (!j->is_first)
		ptrc_buffer_char(j->buffer, ',');
	j->is_first = false;
	if (!key)
		return j->buffer;
	ptrc_buffer_char(j->buffer, '"');
	ptrc_buffer_text(j->buffer, key);
	ptrc_buffer_text(j->buffer, suffix);
	ptrc_buffer_text(j->buffer, "\":");
	return j->buffer;
}

void ptrc_json_key(struct ptrc_json *j, const char *key)
{
	member(j, key, "");
}

void ptrc_json_open(struct ptrc_json *j, const char *key, char bracket)
{
	ptrc_buffer_char(member(j, key, ""), bracket);
	j->is_first = true;
}

void ptrc_json_close(struct ptrc_json *j, char bracket)
{
	ptrc_buffer_char(j->buffer, bracket);
	j->is_first = false;
}

void ptrc_json_text(struct ptrc_json *j, const char *key, const char *text)
{
	ptrc_text_json(member(j, key, ""), text, strlen(text));
}

void ptrc_json_u64(struct ptrc_json *j, const char *key, uint64_t v)
{
	ptrc_buffer_u64(member(j, key, ""), v);
}

void ptrc_json_i64(struct ptrc_json *j, const char *key, int64_t v)
{
	ptrc_buffer_i64(member(j, key, ""), v);
}

void ptrc_json_bool(struct ptrc_json *j, const char *key, bool v)
{
	ptrc_buffer_text(member(j, key, ""), v ? "true" : "false");
}

void ptrc_json_time(struct ptrc_json *j, const char *key, const struct timespec *t)
{
	struct ptrc_time_format f = {0};

	ptrc_buffer_char(member(j, key, ""), '"');
	ptrc_buffer_time(j->buffer, &f, t);
	ptrc_buffer_char(j->buffer, '"');
}

void ptrc_json_bytes(struct ptrc_json *j, const char *key, const char *bytes, size_t size)
{
	ptrc_text_json(member(j, key, ""), bytes, size);
	if (!ptrc_text_is_utf8(bytes, size))
		ptrc_json_hex(j, key, bytes, size);
}

void ptrc_json_hex(struct ptrc_json *j, const char *key, const void *bytes, size_t size)
{
	ptrc_buffer_char(member(j, key, "_hex"), '"');
	ptrc_buffer_hex_bytes(j->buffer, bytes, size);
	ptrc_buffer_char(j->buffer, '"');
}

void ptrc_json_address(struct ptrc_json *j, const char *key, uint64_t address)
{
	ptrc_buffer_char(member(j, key, ""), '"');
	ptrc_buffer_hex(j->buffer, address);
	ptrc_buffer_char(j->buffer, '"');
}

struct ptrc_json ptrc_json_begin(struct ptrc_buffer *b)
{
	struct ptrc_json j = {.buffer = b, .is_first = true};

	ptrc_json_open(&j, NULL, '{');
	ptrc_json_u64(&j, "version", 1);
	return j;
}

void ptrc_json_end(struct ptrc_json *j)
{
	ptrc_json_close(j, '}');
	ptrc_buffer_char(j->buffer, '\n');
}
