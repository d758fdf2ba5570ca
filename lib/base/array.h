/* SPDX-License-Identifier: MIT */
/* Arrays that grow by one item at a time. */
#ifndef PTRC_LIB_BASE_ARRAY_H
#define PTRC_LIB_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/* The array of `count` items, with room for `more` further ones, each of `bytes` bytes; *size is how many it
 * has room for. NULL if there is no memory: the array is unchanged. */
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

/* Makes room in the array for `more` further items. False: there is no memory. */
#define PTRC_ARRAY_RESERVE(array, count, more, size)                                       \
	({                                                                                 \
		void *room_ = ptrc_array_room(array, count, more, size, sizeof(*(array))); \
                                                                                           \
		(array) = room_ ? room_ : (array);                                         \
		room_ != NULL;                                                             \
	})

#endif
