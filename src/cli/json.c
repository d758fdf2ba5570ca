/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/cli/json.h"

#include <string.h>

/* What a byte of text asks for. */
enum {
	PLAIN = 0,
	/* Has a two-character escape in JSON. */
	ESCAPE = 1,
	/* A control character; not shown as text. */
	CONTROL = 2,
	/* Part of a multi-byte character, or nothing at all. */
	HIGH = 4,
};

static unsigned int byte_class(unsigned char c)
{
	if (c >= 0x80)
		return HIGH;
	if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r')
		return ESCAPE;
	return c < 0x20 || c == 0x7f ? CONTROL : PLAIN;
}

/*
 * Length of the multi-byte UTF-8 character at the begin of the bytes, or 0 if there is
 * none: overlong forms, surrogates and numbers above U+10FFFF are none.
 */
static size_t utf8_length(const unsigned char *p, size_t size)
{
	size_t length;
	unsigned char low = 0x80;
	unsigned char high = 0xbf;

	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		length = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		length = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		length = 4;
	else
		return 0;
	if (size < length)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

bool ptrc_text_is_clean(const void *bytes, size_t *size)
{
	const unsigned char *p = bytes;
	size_t n = *size;

	/* Two null bytes are a number rather than a string. */
	if (n > 1 && !p[n - 1] && p[n - 2])
		n--;
	for (size_t i = 0; i < n;) {
		unsigned int class = byte_class(p[i]);
		size_t length = 1;

		if (class == CONTROL)
			return false;
		if (class == HIGH) {
			length = utf8_length(p + i, n - i);
			if (!length || ptrc_text_is_high_control(p + i))
				return false;
		}
		i += length;
	}
	*size = n;
	return true;
}

bool ptrc_json_is_exact(const char *text, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < size;) {
		size_t length = p[i] < 0x80 ? 1 : utf8_length(p + i, size - i);

		if (!length)
			return false;
		i += length;
	}
	return true;
}

static void put_escape(struct ptrc_buffer *b, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[7] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15], '\0'};

	switch (c) {
	case '"':
	case '\\':
		text[1] = (char)c;
		text[2] = '\0';
		break;
	case '\n':
		text[1] = 'n';
		text[2] = '\0';
		break;
	case '\t':
		text[1] = 't';
		text[2] = '\0';
		break;
	case '\r':
		text[1] = 'r';
		text[2] = '\0';
		break;
	default:
		break;
	}
	ptrc_buffer_text(b, text);
}

void ptrc_json_string(struct ptrc_buffer *b, const char *text, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t begin = 0;
	size_t i = 0;

	ptrc_buffer_char(b, '"');
	while (i < size) {
		unsigned int class = byte_class(p[i]);
		size_t length = 1;

		if (class == HIGH)
			length = utf8_length(p + i, size - i);
		if (class == HIGH && length && ptrc_text_is_high_control(p + i))
			class = CONTROL;
		if (class == PLAIN || (class == HIGH && length)) {
			i += length;
			continue;
		}
		ptrc_buffer_bytes(b, p + begin, i - begin);
		if (class == HIGH) {
			ptrc_buffer_text(b, "\xef\xbf\xbd");
			length = 1;
		} else {
			/* The second byte of a high one is its number. */
			put_escape(b, p[i + length - 1]);
		}
		i += length;
		begin = i;
	}
	ptrc_buffer_bytes(b, p + begin, i - begin);
	ptrc_buffer_char(b, '"');
}

static void put_text(struct ptrc_buffer *b, const char *text, size_t size, bool is_quoted)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < size;) {
		unsigned int class = byte_class(p[i]);
		size_t length = 1;

		if (class == HIGH) {
			length = utf8_length(p + i, size - i);
			if (length && ptrc_text_is_high_control(p + i))
				length = 0;
		}
		if (class == ESCAPE && (p[i] != '"' || is_quoted))
			put_escape(b, p[i]);
		else if (class == CONTROL || !length)
			ptrc_buffer_format(b, "\\x%02x", p[i]);
		else
			ptrc_buffer_bytes(b, p + i, length);
		i += length ? length : 1;
	}
}

void ptrc_text_put(struct ptrc_buffer *b, const char *text, size_t size)
{
	put_text(b, text, size, false);
}

void ptrc_text_quote(struct ptrc_buffer *b, const char *text, size_t size)
{
	ptrc_buffer_char(b, '"');
	put_text(b, text, size, true);
	ptrc_buffer_char(b, '"');
}

static void put_key(struct ptrc_json *j, const char *key, const char *suffix)
{
	if (!j->is_first)
		ptrc_buffer_char(j->buffer, ',');
	j->is_first = false;
	if (!key)
		return;
	ptrc_buffer_char(j->buffer, '"');
	ptrc_buffer_text(j->buffer, key);
	ptrc_buffer_text(j->buffer, suffix);
	ptrc_buffer_text(j->buffer, "\":");
}

void ptrc_json_key(struct ptrc_json *j, const char *key)
{
	put_key(j, key, "");
}

void ptrc_json_open(struct ptrc_json *j, const char *key, char bracket)
{
	put_key(j, key, "");
	ptrc_buffer_char(j->buffer, bracket);
	j->is_first = true;
}

void ptrc_json_close(struct ptrc_json *j, char bracket)
{
	ptrc_buffer_char(j->buffer, bracket);
	j->is_first = false;
}

void ptrc_json_text(struct ptrc_json *j, const char *key, const char *text)
{
	put_key(j, key, "");
	ptrc_json_string(j->buffer, text, strlen(text));
}

void ptrc_json_u64(struct ptrc_json *j, const char *key, uint64_t v)
{
	put_key(j, key, "");
	ptrc_buffer_u64(j->buffer, v);
}

void ptrc_json_i64(struct ptrc_json *j, const char *key, int64_t v)
{
	put_key(j, key, "");
	ptrc_buffer_i64(j->buffer, v);
}

void ptrc_json_bool(struct ptrc_json *j, const char *key, bool v)
{
	put_key(j, key, "");
	ptrc_buffer_text(j->buffer, v ? "true" : "false");
}

void ptrc_json_time(struct ptrc_json *j, const char *key, const struct timespec *t)
{
	struct ptrc_time_format f = {0};

	put_key(j, key, "");
	ptrc_buffer_char(j->buffer, '"');
	ptrc_buffer_time(j->buffer, &f, t);
	ptrc_buffer_char(j->buffer, '"');
}

void ptrc_json_bytes(struct ptrc_json *j, const char *key, const char *bytes, size_t size)
{
	put_key(j, key, "");
	ptrc_json_string(j->buffer, bytes, size);
	if (!ptrc_json_is_exact(bytes, size))
		ptrc_json_hex(j, key, bytes, size);
}

void ptrc_json_hex(struct ptrc_json *j, const char *key, const void *bytes, size_t size)
{
	put_key(j, key, "_hex");
	ptrc_buffer_char(j->buffer, '"');
	ptrc_buffer_hex_bytes(j->buffer, bytes, size);
	ptrc_buffer_char(j->buffer, '"');
}
