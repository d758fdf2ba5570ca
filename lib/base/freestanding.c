/* SPDX-License-Identifier: MIT */
/* The memory functions that the keeper needs, because the compiler generates calls of them, and the
 * keeper is linked without the C library. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#undef memcpy
#undef memmove
#undef memset
#undef memcmp

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
	uint8_t *out = to;
	const uint8_t *in = from;

#if defined(__x86_64__)
	/* Below some 256 bytes the start-up cost of the instruction outweighs its gain. */
	if (count >= 256) {
		__asm__ volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(count) : : "memory");
		return to;
	}
#endif
	for (; count >= 8; count -= 8, out += 8, in += 8) {
		uint64_t word;

		__builtin_memcpy(&word, in, 8);
		__builtin_memcpy(out, &word, 8);
	}
	while (count--)
		*out++ = *in++;
	return to;
}

void *memmove(void *to, const void *from, size_t count)
{
	uint8_t *out = to;
	const uint8_t *in = from;

	if ((uintptr_t)to - (uintptr_t)from >= count)
		return memcpy(to, from, count);
	while (count--)
		out[count] = in[count];
	return to;
}

void *memset(void *to, int value, size_t count)
{
#if defined(__x86_64__)
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(count) : "a"(value) : "memory");
#else
	uint8_t *out = to;

	while (count--)
		*out++ = (uint8_t)value;
#endif
	return to;
}

int memcmp(const void *a, const void *b, size_t count)
{
	const uint8_t *x = a, *y = b;

	for (; count--; x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}
