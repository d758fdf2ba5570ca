/* SPDX-License-Identifier: MIT */
/*
 * Attributes and small helpers for every file of the library, the freestanding keeper included:
 * no function, nothing that needs the C library.
 */
#ifndef PTRC_LIB_BASE_COMMON_H
#define PTRC_LIB_BASE_COMMON_H

#include <stddef.h>

/* Stands before the definition of a function that an installed header declares; all others stay
 * inside the shared library (-fvisibility=hidden). */
#define PTRC_PUBLIC __attribute__((visibility("default")))

/* Stands before the declaration of a variable that the event path loads: the compiler then
 * knows that it is in the same library, and needs no table of addresses to find it. */
#define PTRC_HIDDEN __attribute__((visibility("hidden")))

/* Stays in the object though no code refers to it. */
#define PTRC_USED __attribute__((used))

/* For functions that are seldom called: they stay out of line and away from hot code. */
#define PTRC_COLD __attribute__((cold, noinline))
#define PTRC_NOINLINE __attribute__((noinline))
#define PTRC_ALWAYS_INLINE inline __attribute__((always_inline))

#define PTRC_LIKELY(x) __builtin_expect(!!(x), 1)
#define PTRC_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The pointer arguments with these numbers (from 1; without numbers: all) are not null. Only
 * for internal functions: a public one answers EINVAL to a null pointer. */
#define PTRC_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#define PTRC_MUST_CHECK __attribute__((warn_unused_result))

/* For the event path, which has no time for it and no array that could overflow, and for code that
 * runs on the memory of another process. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define PTRC_NO_STACK_PROTECTOR __attribute__((no_stack_protector))
#endif
#endif
#ifndef PTRC_NO_STACK_PROTECTOR
#define PTRC_NO_STACK_PROTECTOR
#endif

/* The variable is there to have f(&variable) called at the end of its scope. */
#define PTRC_CLEANUP(f) __attribute__((cleanup(f), unused))

/* For layouts that other processes, other programs or later versions read. */
#define PTRC_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(type) == (bytes), "size of " #type " is fixed")
#define PTRC_ASSERT_OFFSET(type, member, bytes)           \
	_Static_assert(offsetof(type, member) == (bytes), \
		       "offset of " #member " in " #type " is fixed")

/* Less than 0, 0 or more, as qsort() wants it. */
#define PTRC_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#define PTRC_ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
