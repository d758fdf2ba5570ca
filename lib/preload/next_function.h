/* SPDX-License-Identifier: MIT */
/*
 * A wrapper is a function of this library that has the name of a function of the C library, such as
 * read(), so that the program calls the wrapper instead. The wrapper calls the next definition of
 * its name: the one that the program would call without this library. ptrc_next_function() finds
 * that definition without dlsym(), which allocates memory and takes locks, and so could call a
 * wrapper again.
 */
#ifndef PTRC_LIB_PRELOAD_NEXT_FUNCTION_H
#define PTRC_LIB_PRELOAD_NEXT_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"

/* Called by the constructor. Libraries that are loaded later are not searched, because they may be
 * unloaded during the search. */
void ptrc_next_function_begin(void);

/* Finds the function `name`, in its default version, in the first library after this one that
 * defines it; NULL if none does. Async-signal-safe. */
PTRC_COLD void *ptrc_next_function(const char *name);

/* Whether the code at the address belongs to a loaded library whose path contains this text.
 * Async-signal-safe. */
PTRC_COLD bool ptrc_next_function_is_in(uint64_t address, const char *library);

/* The type by which wrappers call the wrapped functions. They pass on up to six numbers or
 * addresses, which are in registers. The wrapped function may have another type: it uses only the
 * arguments that it has, and only the bits of their types. */
typedef long ptrc_function(long, long, long, long, long, long);

/* Called in place of functions that the C library lacks: ptrc_function_fails() returns -1 and sets
 * errno to ENOSYS, ptrc_function_error() returns ENOSYS. */
ptrc_function ptrc_function_fails, ptrc_function_error;

/* The next definition of the function whose name is the string `name`; `otherwise` if there is
 * none. Each use of the macro in the code searches only once. */
#define PTRC_NEXT_OR(name, otherwise)                                          \
	({                                                                     \
		static ptrc_function *_Atomic next_;                           \
		ptrc_function *function_ = ptrc_load_relaxed(&next_);          \
                                                                               \
		if (PTRC_UNLIKELY(!function_)) {                               \
			function_ = (ptrc_function *)ptrc_next_function(name); \
			if (!function_)                                        \
				function_ = (otherwise);                       \
			ptrc_store_relaxed(&next_, function_);                 \
		}                                                              \
		function_;                                                     \
	})
#define PTRC_NEXT(name) PTRC_NEXT_OR(#name, ptrc_function_fails)

/* For a function with a seventh argument, which is on the stack on x86-64. */
typedef long ptrc_function_of_7(long, long, long, long, long, long, long);
#define PTRC_NEXT_OF_7(name) ((ptrc_function_of_7 *)(void (*)(void))PTRC_NEXT(name))

/* Starts the definition of a wrapper, whose parameters are a to f. */
#define PTRC_WRAPPER(name)                                                                    \
	PTRC_PUBLIC long ptrc_wrapper_##name(long a, long b, long c, long d, long e,          \
					     long f) __asm__(#name);                          \
	PTRC_PUBLIC PTRC_NO_STACK_PROTECTOR long ptrc_wrapper_##name(                         \
		long a PTRC_MAYBE_UNUSED, long b PTRC_MAYBE_UNUSED, long c PTRC_MAYBE_UNUSED, \
		long d PTRC_MAYBE_UNUSED, long e PTRC_MAYBE_UNUSED, long f PTRC_MAYBE_UNUSED)
#define PTRC_MAYBE_UNUSED __attribute__((unused))

/* The address in the program to which a wrapper returns. */
#define PTRC_CALL_SITE ((uint64_t)__builtin_return_address(0))

#endif
