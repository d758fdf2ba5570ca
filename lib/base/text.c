/* SPDX-License-Identifier: MIT */
/*
 * String functions for code that must not call those of the C library: the keeper, which is linked
 * without the C library, and the library that ptrace-run preloads (lib/preload). A traced program
 * may define functions of these names itself, compiled with calls of the preloaded library at their
 * start and end. If that library called these functions, the calls would never end.
 */
#include <stddef.h>
#include <string.h>

#undef strlen
#undef strnlen
#undef strchr
#undef strcmp
#undef strncmp
#undef memchr

size_t strlen(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

size_t strnlen(const char *text, size_t most)
{
	size_t n = 0;

	while (n < most && text[n])
		n++;
	return n;
}

char *strchr(const char *text, int c)
{
	for (; *text != (char)c; text++)
		if (!*text)
			return NULL;
	return (char *)(size_t)text;
}

int strncmp(const char *a, const char *b, size_t most)
{
	for (; most && *a && *a == *b; most--) {
		a++;
		b++;
	}
	return most ? (unsigned char)*a - (unsigned char)*b : 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, (size_t)-1);
}

void *memchr(const void *bytes, int c, size_t count)
{
	const unsigned char *at = bytes;

	for (; count--; at++)
		if (*at == (unsigned char)c)
			return (void *)(size_t)at;
	return NULL;
}
