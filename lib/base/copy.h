/* SPDX-License-Identifier: MIT */
/*
 * memcpy() without a call, for what several threads or processes share. A traced program may be
 * built with the thread sanitizer, which replaces memcpy() by its own function and cannot see the
 * synchronisation in this library: it would report a race. And for the short data of most events a
 * call would cost more than the copying.
 */
#ifndef PTRC_LIB_BASE_COPY_H
#define PTRC_LIB_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/common.h"

/* Reads no byte beyond len. */
static PTRC_ALWAYS_INLINE void ptrc_copy(void *into, const void *source, size_t len)
{
	uint8_t *to = into;
	const uint8_t *from = source;
	struct block16 {
		uint64_t word[2];
	} a, b;

	if (PTRC_LIKELY(len >= 16)) {
		const uint8_t *last = from + len - 16;
		uint8_t *to_last = to + len - 16;

		for (; PTRC_UNLIKELY(last - from > 16); from += 32, to += 32) {
			memcpy(&a, from, 16);
			memcpy(&b, from + 16, 16);
			memcpy(to, &a, 16);
			memcpy(to + 16, &b, 16);
		}
		/* 1 to 32 bytes are left, copied in one or two pieces, which may overlap each other and
		 * what has been copied. */
		memcpy(&b, last, 16);
		if (last > from) {
			memcpy(&a, from, 16);
			memcpy(to, &a, 16);
		}
		memcpy(to_last, &b, 16);
	} else if (len >= 8) {
		memcpy(&a.word[0], from, 8);
		memcpy(&a.word[1], from + len - 8, 8);
		memcpy(to, &a.word[0], 8);
		memcpy(to + len - 8, &a.word[1], 8);
	} else {
		/* Without volatile the compiler replaces the loop by a call of memcpy(). */
		for (size_t i = 0; i < len; i++)
			((volatile uint8_t *)to)[i] = from[i];
	}
}

#endif
