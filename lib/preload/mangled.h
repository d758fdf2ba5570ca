/* SPDX-License-Identifier: MIT */
/* Converts the symbols of C++ functions to the names in the source. Async-signal-safe, without
 * allocation. */
#ifndef PTRC_LIB_PRELOAD_MANGLED_H
#define PTRC_LIB_PRELOAD_MANGLED_H

#include <stdbool.h>

/* The size of the buffer for a name, including the null byte. Longer names are refused. */
#define PTRC_MANGLED_MAX 1024

/*
 * Converts a symbol of the Itanium ABI (_ZN3foo3barEi) to a name with its classes and namespaces,
 * without arguments of functions and templates (foo::bar). Returns false if the symbol has
 * another form, or if a part of the name is no identifier, as in operator+.
 */
bool ptrc_mangled_name(const char *symbol, char name[PTRC_MANGLED_MAX]);

#endif
