/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/fields/json_text.h"

#include <stdint.h>
#include <string.h>

#include "src/base/escape.h"

struct scan {
	const unsigned char *at;
	const unsigned char *end;
};

static struct scan scan_of(const char *text, size_t size)
{
	const unsigned char *begin = (const unsigned char *)text;

	return (struct scan){begin, begin + size};
}

static void skip_blanks(struct scan *s)
{
	while (s->at < s->end &&
	       (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static bool take(struct scan *s, char c)
{
	if (s->at == s->end || *s->at != (unsigned char)c)
		return false;
	s->at++;
	return true;
}

static int hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads the four hexadecimal digits after \u. */
static bool take_unit(struct scan *s, uint32_t *unit)
{
	*unit = 0;
	if (s->end - s->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(*s->at++);

		if (digit < 0)
			return false;
		*unit = *unit << 4 | (uint32_t)digit;
	}
	return true;
}

/* Reads the rest of an escape sequence, whose backslash was read before. */
static bool take_escape(struct scan *s, uint32_t *character)
{
	static const char letters[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	uint32_t low;

	if (s->at == s->end || !*s->at)
		return false;
	letter = strchr(letters, *s->at++);
	if (letter) {
		*character = (unsigned char)meanings[letter - letters];
		return true;
	}
	if (s->at[-1] != 'u' || !take_unit(s, character))
		return false;
	if (*character < 0xd800 || *character > 0xdfff)
		return true;
	if (*character > 0xdbff || !take(s, '\\') || !take(s, 'u') || !take_unit(s, &low) ||
	    low < 0xdc00 || low > 0xdfff)
		return false;
	*character = 0x10000 + ((*character - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* Reads the rest of a string, whose first quote was read before, and the quote at its end. */
static bool take_string(struct scan *s)
{
	uint32_t character;

	while (s->at < s->end) {
		unsigned char c = *s->at;
		size_t length = 1;

		if (c == '"') {
			s->at++;
			return true;
		}
		if (c < 0x20)
			return false;
		if (c == '\\') {
			s->at++;
			if (!take_escape(s, &character))
				return false;
			continue;
		}
		if (c >= 0x80)
			length = ptrc_utf8_length(s->at, (size_t)(s->end - s->at));
		if (!length)
			return false;
		s->at += length;
	}
	return false;
}

static bool take_digits(struct scan *s)
{
	const unsigned char *begin = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > begin;
}

static bool take_number(struct scan *s)
{
	take(s, '-');
	if (!take(s, '0') && !take_digits(s))
		return false;
	if (take(s, '.') && !take_digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '-'))
			take(s, '+');
		return take_digits(s);
	}
	return true;
}

static bool take_word(struct scan *s, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size))
		return false;
	s->at += size;
	return true;
}

static bool take_scalar(struct scan *s)
{
	if (take(s, '"'))
		return take_string(s);
	return take_word(s, "true") || take_word(s, "false") || take_word(s, "null") ||
	       take_number(s);
}

/* Reads the name of a member and the colon after it. *name includes the quotes of the name. */
static bool take_key(struct scan *s, const char **name, size_t *name_size)
{
	skip_blanks(s);
	*name = (const char *)s->at;
	if (!take(s, '"') || !take_string(s))
		return false;
	*name_size = (size_t)((const char *)s->at - *name);
	skip_blanks(s);
	return take(s, ':');
}

/* Reads a value. The function does not call itself for nested values, so that no text needs much stack. */
static bool take_value(struct scan *s)
{
	/* For each object or array that is open: whether it is an object. */
	bool is_object[PTRC_JSON_TEXT_DEPTH_MAX];
	size_t depth = 0, name_size;
	const char *name;

	for (;;) {
		skip_blanks(s);
		if (s->at < s->end && (*s->at == '{' || *s->at == '[')) {
			if (depth == PTRC_JSON_TEXT_DEPTH_MAX)
				return false;
			is_object[depth] = *s->at++ == '{';
			skip_blanks(s);
			if (!take(s, is_object[depth] ? '}' : ']')) {
				if (is_object[depth++] && !take_key(s, &name, &name_size))
					return false;
				continue;
			}
		} else if (!take_scalar(s)) {
			return false;
		}
		/* A value has ended. The objects and arrays that it is in may end here, too. */
		for (;; depth--) {
			if (!depth)
				return true;
			skip_blanks(s);
			if (!take(s, is_object[depth - 1] ? '}' : ']'))
				break;
		}
		if (!take(s, ',') || (is_object[depth - 1] && !take_key(s, &name, &name_size)))
			return false;
	}
}

bool ptrc_json_text_is_valid(const char *text, size_t size)
{
	struct scan s = scan_of(text, size);

	if (!take_value(&s))
		return false;
	skip_blanks(&s);
	return s.at == s.end;
}

static bool is_key_byte(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Reads an index, [N], from a path that starts with '['. Returns the text after it, or NULL if it is no index. */
static const char *read_index(const char *path, uint64_t *index)
{
	const char *begin = ++path;

	for (*index = 0; *path >= '0' && *path <= '9' && path - begin < 18; path++)
		*index = 10 * *index + (uint64_t)(*path - '0');
	return path > begin && *path == ']' ? path + 1 : NULL;
}

bool ptrc_json_text_is_path(const char *path)
{
	uint64_t index;

	if (!*path)
		return false;
	while (path && *path) {
		const char *begin = path + 1;

		if (*path == '[') {
			path = read_index(path, &index);
			continue;
		}
		if (*path++ != '.')
			return false;
		while (is_key_byte(*path))
			path++;
		if (path == begin)
			return false;
	}
	return path;
}

/* Whether a string, whose first quote was read before, equals the key. */
static bool is_key(struct scan s, const char *key, size_t size)
{
	uint32_t character;
	size_t i = 0;

	for (; *s.at != '"'; i++) {
		character = *s.at++;
		if (character == '\\')
			take_escape(&s, &character);
		/* All characters of the key are ASCII, so each of its bytes is a character. */
		if (i == size || character != (unsigned char)key[i])
			return false;
	}
	return i == size;
}

static bool take_member(struct scan *s, struct ptrc_json_text_member *m)
{
	if ((!take(s, '{') && !take(s, ',')) || !take_key(s, &m->name, &m->name_size))
		return false;
	skip_blanks(s);
	m->value = (const char *)s->at;
	take_value(s);
	m->value_size = (size_t)((const char *)s->at - m->value);
	skip_blanks(s);
	return true;
}

bool ptrc_json_text_next_member(const char **at, const char *end, struct ptrc_json_text_member *m)
{
	struct scan s = scan_of(*at, (size_t)(end - *at));

	if (!take_member(&s, m))
		return false;
	*at = (const char *)s.at;
	return true;
}

/* Goes to the value of the last member with this key. */
static bool enter_member(struct scan *s, const char *key, size_t size)
{
	struct ptrc_json_text_member m;
	const char *found = NULL;

	while (take_member(s, &m))
		if (is_key(scan_of(m.name + 1, m.name_size - 1), key, size))
			found = m.value;
	s->at = (const unsigned char *)found;
	return found;
}

static bool enter_element(struct scan *s, uint64_t index)
{
	if (!take(s, '['))
		return false;
	skip_blanks(s);
	for (; !take(s, ']'); index--) {
		skip_blanks(s);
		if (!index)
			return true;
		take_value(s);
		skip_blanks(s);
		take(s, ',');
	}
	return false;
}

bool ptrc_json_text_find(const char *text, size_t size, const char *path, const char **value,
			 size_t *value_size)
{
	struct scan s = scan_of(text, size);

	skip_blanks(&s);
	while (*path) {
		uint64_t index;
		size_t key_size;

		if (*path == '[') {
			path = read_index(path, &index);
			if (!path || !enter_element(&s, index))
				return false;
			continue;
		}
		key_size = strcspn(++path, ".[");
		if (!enter_member(&s, path, key_size))
			return false;
		path += key_size;
	}
	*value = (const char *)s.at;
	take_value(&s);
	*value_size = (size_t)((const char *)s.at - *value);
	return true;
}

void ptrc_json_text_put(struct ptrc_buffer *b, const char *text, size_t size, bool is_for_people)
{
	struct scan s = scan_of(text, size);
	bool is_string = false;

	while (s.at < s.end) {
		unsigned char c = *s.at;
		char escape[PTRC_ESCAPE_BYTES] = "";
		size_t length = 1;
		bool is_control = c == 0x7f;

		if (!is_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
			s.at++;
			continue;
		}
		if (c == '\\') {
			ptrc_buffer_bytes(b, s.at, 2);
			s.at += 2;
			continue;
		}
		if (c == '"')
			is_string = !is_string;
		if (c >= 0x80) {
			length = ptrc_escape(s.at, (size_t)(s.end - s.at), escape);
			is_control = is_for_people ? *escape : ptrc_is_high_control(s.at);
		}
		if (is_control)
			ptrc_buffer_format(b, "\\u%04x", ptrc_utf8_number(s.at, length));
		else
			ptrc_buffer_bytes(b, s.at, length);
		s.at += length;
	}
}

static void put_utf8(struct ptrc_buffer *b, uint32_t c)
{
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};

	ptrc_buffer_char(b, (char)(first[more] | c >> (6 * more)));
	while (more-- > 0)
		ptrc_buffer_char(b, (char)(0x80 | (c >> (6 * more) & 0x3f)));
}

void ptrc_json_text_unescape(struct ptrc_buffer *b, const char *text, size_t size)
{
	struct scan s = scan_of(text + 1, size - 1);
	uint32_t character;

	while (s.at < s.end && *s.at != '"') {
		const unsigned char *begin = s.at;

		while (*s.at != '"' && *s.at != '\\')
			s.at++;
		ptrc_buffer_bytes(b, begin, (size_t)(s.at - begin));
		if (!take(&s, '\\'))
			break;
		take_escape(&s, &character);
		put_utf8(b, character);
	}
}
