/* SPDX-License-Identifier: MIT */
/*
 * Escapes characters that must not reach a terminal because they are commands to it, start a new line, or change
 * the order in which text is read. All output for people, on standard output and in messages, is escaped here.
 */
#ifndef PTRC_SRC_BASE_ESCAPE_H
#define PTRC_SRC_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

/* The size of the longest escape of a character, with its null byte. */
enum { PTRC_ESCAPE_BYTES = 16 };

/* If the text starts with a UTF-8 character of several bytes, returns its number of bytes; else 0. */
size_t ptrc_utf8_length(const unsigned char *, size_t size);

/* The code point of a character of this many bytes. */
unsigned int ptrc_utf8_number(const unsigned char *, size_t length);

/* Whether a UTF-8 character of several bytes is one of the control characters U+0080 to U+009F, which some
 * terminals obey. */
static inline bool ptrc_is_high_control(const unsigned char *character)
{
	return character[0] == 0xc2 && character[1] < 0xa0;
}

/*
 * Returns the length of the character with which the text starts, and stores its escape, or "" if the character can
 * be shown itself. The text must not be empty. These characters get an escape:
 *
 * 	line feed, tab, carriage return         \n \t \r
 * 	other control characters, also U+0080 to U+009F, and bytes that are not UTF-8
 * 	                                        \xHH for each byte
 * 	controls of the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E,
 * 	U+2066 to U+2069), separators of lines and paragraphs (U+2028, U+2029),
 * 	U+FFFE and U+FFFF, which XML and YAML do not allow
 * 	                                        \uHHHH
 */
size_t ptrc_escape(const unsigned char *, size_t size, char escape[PTRC_ESCAPE_BYTES]);

#endif
