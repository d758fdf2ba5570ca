/* SPDX-License-Identifier: MIT */
/*
 * A binary heap for merging sorted sequences: its top is the sequence whose next element comes
 * first.
 *
 * The heap is an array of pointers that the caller owns, together with their number. After
 *
 *     static bool is_before(const struct source *a, const struct source *b);
 *     PTRC_HEAP_DEFINE(heap, struct source, is_before)
 *
 * the functions heap_build, heap_push, heap_pop and heap_sift_down exist for arrays of `struct
 * source *`. is_before must be a strict order; the compiler inlines it.
 */
#ifndef PTRC_LIB_BASE_HEAP_H
#define PTRC_LIB_BASE_HEAP_H

#include <stddef.h>

/*
 * name##_sift_down: restores the order after the element at position `at` was changed such that
 *                   it comes later than before.
 * name##_build:     makes a heap of an array with `count` elements in any order.
 * name##_push:      adds `item`; the array has room for one element beyond `count`. The caller
 *                   adds one to its count.
 * name##_pop:       removes the top. The caller subtracts one from its count.
 */
#define PTRC_HEAP_DEFINE(name, type, is_before)                                                \
	__attribute__((unused)) static inline void name##_sift_down(type **heap, size_t count, \
								    size_t at)                 \
	{                                                                                      \
		type *item = heap[at];                                                         \
                                                                                               \
		for (;;) {                                                                     \
			size_t child = 2 * at + 1;                                             \
                                                                                               \
			if (child >= count)                                                    \
				break;                                                         \
			if (child + 1 < count && is_before(heap[child + 1], heap[child]))      \
				child++;                                                       \
			if (!is_before(heap[child], item))                                     \
				break;                                                         \
			heap[at] = heap[child];                                                \
			at = child;                                                            \
		}                                                                              \
		heap[at] = item;                                                               \
	}                                                                                      \
                                                                                               \
	__attribute__((unused)) static inline void name##_build(type **heap, size_t count)     \
	{                                                                                      \
		for (size_t at = count / 2; at-- > 0;)                                         \
			name##_sift_down(heap, count, at);                                     \
	}                                                                                      \
                                                                                               \
	__attribute__((unused)) static inline void name##_push(type **heap, size_t count,      \
							       type *item)                     \
	{                                                                                      \
		size_t at = count;                                                             \
                                                                                               \
		for (; at && is_before(item, heap[(at - 1) / 2]); at = (at - 1) / 2)           \
			heap[at] = heap[(at - 1) / 2];                                         \
		heap[at] = item;                                                               \
	}                                                                                      \
                                                                                               \
	__attribute__((unused)) static inline void name##_pop(type **heap, size_t count)       \
	{                                                                                      \
		heap[0] = heap[count - 1];                                                     \
		if (count > 2)                                                                 \
			name##_sift_down(heap, count - 1, 0);                                  \
	}                                                                                      \
	_Static_assert(sizeof(type *) == sizeof(void *), "takes the semicolon")

#endif
