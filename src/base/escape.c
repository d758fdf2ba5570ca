/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/base/escape.h"

#include <stdio.h>

size_t ptrc_utf8_length(const unsigned char *p, size_t size)
{
	size_t length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	/* For some first bytes, the second byte has a smaller range. This excludes overlong forms, surrogates,
	 * and numbers above U+10FFFF. */
	unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;

	if (p[0] < 0xc2 || p[0] > 0xf4 || size < length || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

unsigned int ptrc_utf8_number(const unsigned char *p, size_t length)
{
	unsigned int number = length > 1 ? p[0] & (0xffU >> (length + 1)) : p[0];

	for (size_t i = 1; i < length; i++)
		number = number << 6 | (p[i] & 0x3fU);
	return number;
}

/* Whether the character changes the direction of text, ends a line, or is a noncharacter. */
static bool is_unseen(unsigned int c)
{
	return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0xfffe || c == 0xffff;
}

size_t ptrc_escape(const unsigned char *p, size_t size, char escape[PTRC_ESCAPE_BYTES])
{
	size_t length = 1;
	unsigned int number;

	*escape = '\0';
	if (*p >= 0x80) {
		length = ptrc_utf8_length(p, size);
		number = ptrc_utf8_number(p, length);
		if (!length)
			snprintf(escape, PTRC_ESCAPE_BYTES, "\\x%02x", *p);
		else if (ptrc_is_high_control(p))
			snprintf(escape, PTRC_ESCAPE_BYTES, "\\x%02x\\x%02x", p[0], p[1]);
		else if (is_unseen(number))
			snprintf(escape, PTRC_ESCAPE_BYTES, "\\u%04x", number);
		return length ? length : 1;
	}
	if (*p == '\n' || *p == '\t' || *p == '\r')
		snprintf(escape, PTRC_ESCAPE_BYTES, "\\%c",
			 *p == '\n'   ? 'n'
			 : *p == '\t' ? 't'
				      : 'r');
	else if (*p < 0x20 || *p == 0x7f)
		snprintf(escape, PTRC_ESCAPE_BYTES, "\\x%02x", *p);
	return length;
}
