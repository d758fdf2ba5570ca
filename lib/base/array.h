/* SPDX-License-Identifier: MIT */
/* Arrays that grow as items are appended. */
#ifndef PTRC_LIB_BASE_ARRAY_H
#define PTRC_LIB_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/* Returns an array with room for `more` further items after its `count` items: the same array, or a
 * larger copy in its place. Each item has `bytes` bytes. *size is the capacity of the array in
 * items. NULL: out of memory; the array is unchanged. */
static inline void *ptrc_array_room(void *array, size_t count, size_t more, size_t *size,
				    size_t bytes)
{
	size_t larger = *size ? *size : 16;

	if (array && more <= *size - count)
		return array;
	while (larger - count < more)
		larger *= 2;
	array = reallocarray(array, larger, bytes);
	if (array)
		*size = larger;
	return array;
}

/* Grows the array so that `more` further items fit. False: out of memory. */
#define PTRC_ARRAY_RESERVE(array, count, more, size)                                       \
	({                                                                                 \
		void *room_ = ptrc_array_room(array, count, more, size, sizeof(*(array))); \
                                                                                           \
		(array) = room_ ? room_ : (array);                                         \
		room_ != NULL;                                                             \
	})

#endif
