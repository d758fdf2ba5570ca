/* SPDX-License-Identifier: MIT */
/* Names of C++ functions as people write them. Async-signal-safe, without allocation. */
#ifndef PTRC_LIB_FUNCTIONS_MANGLED_H
#define PTRC_LIB_FUNCTIONS_MANGLED_H

#include <stdbool.h>

/* The longest name, with its null byte; a longer one is refused. */
#define PTRC_MANGLED_MAX 1024

/*
 * Converts a symbol of the Itanium ABI (_ZN3foo3barEi) to a name with its classes and namespaces,
 * without arguments of functions and templates (foo::bar). Returns false if it is no such symbol,
 * or a part of the name is no identifier, as in operator+.
 */
bool ptrc_mangled_name(const char *symbol, char name[PTRC_MANGLED_MAX]);

#endif
