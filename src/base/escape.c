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

/* Returns the code point of a UTF-8 character if it has two or three bytes, and changes the direction of text,
 * ends a line, or is a noncharacter; else 0. */
static unsigned int number_of_unseen(const unsigned char *p, size_t length)
{
	unsigned int c = 0;

	if (length == 2)
		c = (p[0] & 0x1fU) << 6 | (p[1] & 0x3fU);
	else if (length == 3)
		c = (p[0] & 0xfU) << 12 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU);
	if (c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069) || c == 0xfffe || c == 0xffff)
		return c;
	return 0;
}

size_t ptrc_escape(const unsigned char *p, size_t size, char escape[PTRC_ESCAPE_BYTES])
{
	size_t length = 1;
	unsigned int unseen;

	*escape = '\0';
	if (*p >= 0x80) {
		length = ptrc_utf8_length(p, size);
		unseen = number_of_unseen(p, length);
		if (!length)
			snprintf(escape, PTRC_ESCAPE_BYTES, "\\x%02x", *p);
		else if (ptrc_is_high_control(p))
			snprintf(escape, PTRC_ESCAPE_BYTES, "\\x%02x\\x%02x", p[0], p[1]);
		else if (unseen)
			snprintf(escape, PTRC_ESCAPE_BYTES, "\\u%04x", unseen);
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
