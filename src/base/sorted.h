/* SPDX-License-Identifier: MIT */
/* Finds places in sorted arrays. */
#ifndef PTRC_SRC_BASE_SORTED_H
#define PTRC_SRC_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The number of things whose first member, an int64_t by which the array is sorted, is at most `value`. A thing has
 * this many bytes. */
static inline size_t ptrc_sorted_up_to(const void *things, size_t count, size_t bytes,
				       int64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int64_t key;

		memcpy(&key, (const char *)things + middle * bytes, sizeof(key));
		if (key <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
