/* SPDX-License-Identifier: MIT */
/* Numbers as decimal and hexadecimal digits, and words between blanks, without the C library. */
#ifndef PTRC_LIB_BASE_DIGITS_H
#define PTRC_LIB_BASE_DIGITS_H

#include <stddef.h>
#include <stdint.h>

/* Moves *at past the current word and the blanks after it. */
static inline void ptrc_digits_skip_word(const char **at)
{
	while (**at && **at != ' ')
		++*at;
	while (**at == ' ')
		++*at;
}

/* Writes the number in decimal digits at `at`, without a terminating zero. Returns the address
 * after the last digit. */
static inline char *ptrc_digits_put(char *at, uint64_t n)
{
	char digits[20];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	while (count)
		*at++ = digits[--count];
	return at;
}

/* Reads the decimal number at *at and advances *at past it and any blanks that follow. */
static inline uint64_t ptrc_digits_take(const char **at)
{
	const char *s = *at;
	uint64_t n = 0;

	while (*s >= '0' && *s <= '9')
		n = n * 10 + (uint64_t)(*s++ - '0');
	while (*s == ' ' || *s == '\t')
		s++;
	*at = s;
	return n;
}

/* Reads the hexadecimal number at *at and advances *at past it, at most to `end` (NULL: no
 * limit). */
static inline uint64_t ptrc_digits_take_hex(const char **at, const char *end)
{
	uint64_t n = 0;

	for (; *at != end; ++*at) {
		char c = **at;

		if (c >= '0' && c <= '9')
			n = n << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	return n;
}

#endif
