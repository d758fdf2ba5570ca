/* SPDX-License-Identifier: MIT */
/*
 * Compiler attributes and small macros for every file of the library. The keeper, which has no C
 * library, includes this file too.
 */
#ifndef PTRC_LIB_BASE_COMMON_H
#define PTRC_LIB_BASE_COMMON_H

#include <stddef.h>

/* Exports a function that an installed header declares. All others are hidden
 * (-fvisibility=hidden). */
#define PTRC_PUBLIC __attribute__((visibility("default")))

/* For variables that the event path loads: the compiler then knows that they are in the same
 * library, and does not go through the table of addresses. */
#define PTRC_HIDDEN __attribute__((visibility("hidden")))

/* The compiler keeps the symbol though no code refers to it. */
#define PTRC_USED __attribute__((used))

/* For rarely called functions: they stay out of line and away from hot code. */
#define PTRC_COLD __attribute__((cold, noinline))
#define PTRC_NOINLINE __attribute__((noinline))
#define PTRC_ALWAYS_INLINE inline __attribute__((always_inline))

#define PTRC_LIKELY(x) __builtin_expect(!!(x), 1)
#define PTRC_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The pointer arguments with these numbers, counted from 1 (without numbers: all), are not NULL.
 * For internal functions only: public ones return EINVAL for a null pointer. */
#define PTRC_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#define PTRC_MUST_CHECK __attribute__((warn_unused_result))

/* For the event path, which has no array that could overflow and no time for the check, and for
 * code that runs in the memory of another process. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define PTRC_NO_STACK_PROTECTOR __attribute__((no_stack_protector))
#endif
#endif
#ifndef PTRC_NO_STACK_PROTECTOR
#define PTRC_NO_STACK_PROTECTOR
#endif

/* The variable exists only to have f(&variable) called at the end of its scope. */
#define PTRC_CLEANUP(f) __attribute__((cleanup(f), unused))

/* For structures that other processes, programs or versions read. */
#define PTRC_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(type) == (bytes), "size of " #type " is fixed")
#define PTRC_ASSERT_OFFSET(type, member, bytes)           \
	_Static_assert(offsetof(type, member) == (bytes), \
		       "offset of " #member " in " #type " is fixed")

/* A comparison result for qsort(). */
#define PTRC_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#define PTRC_ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
