/* SPDX-License-Identifier: MIT */
/*
 * Compiler attributes and small macros for every file of the library. The keeper, which has no C
 * library, includes this file too.
 */
#ifndef PTRC_LIB_BASE_COMMON_H
#define PTRC_LIB_BASE_COMMON_H

#include <stddef.h>

/* Exports a function that an installed header declares. All other functions are hidden
 * (-fvisibility=hidden). */
#define PTRC_PUBLIC __attribute__((visibility("default")))

/* For variables that each call of posix_trace_event() loads. The compiler then knows that the
 * variable is in this library, and loads it directly, not through the GOT. */
#define PTRC_HIDDEN __attribute__((visibility("hidden")))

/* Makes the compiler keep a symbol to which no C code refers. */
#define PTRC_USED __attribute__((used))

/* For rarely called functions: the compiler does not inline them and places them away from hot
 * code. */
#define PTRC_COLD __attribute__((cold, noinline))
#define PTRC_NOINLINE __attribute__((noinline))
#define PTRC_ALWAYS_INLINE inline __attribute__((always_inline))

#define PTRC_LIKELY(x) __builtin_expect(!!(x), 1)
#define PTRC_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The pointer arguments with these numbers, counted from 1 (without numbers: all), are not NULL.
 * For internal functions only: public ones return EINVAL for a null pointer. */
#define PTRC_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#define PTRC_MUST_CHECK __attribute__((warn_unused_result))

/* Leaves out the check for stack overflow: in the code that records an event, which has no array to
 * overflow and no time for the check, and in code that runs in another process's memory. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define PTRC_NO_STACK_PROTECTOR __attribute__((no_stack_protector))
#endif
#endif
#ifndef PTRC_NO_STACK_PROTECTOR
#define PTRC_NO_STACK_PROTECTOR
#endif

/* For a variable that exists only so that f(&variable) is called at the end of its scope. */
#define PTRC_CLEANUP(f) __attribute__((cleanup(f), unused))

/* For structures that other processes, programs or versions of the library read: a change of their
 * layout is a compile-time error. */
#define PTRC_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(type) == (bytes), "size of " #type " is fixed")
#define PTRC_ASSERT_OFFSET(type, member, bytes)           \
	_Static_assert(offsetof(type, member) == (bytes), \
		       "offset of " #member " in " #type " is fixed")

/* The result of a comparison function for qsort(): negative, 0 or positive. */
#define PTRC_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#define PTRC_ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
