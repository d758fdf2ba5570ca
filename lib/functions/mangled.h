/* SPDX-License-Identifier: MIT */
/* Names of C++ functions as people write them. Async-signal-safe, without allocation. */
#ifndef PTRC_LIB_FUNCTIONS_MANGLED_H
#define PTRC_LIB_FUNCTIONS_MANGLED_H

#include <stdbool.h>
#include <stddef.h>

/* Longer names than this, with their zero byte, are not told. */
#define PTRC_MANGLED_MAX 1024

/*
 * Makes of a symbol of the Itanium ABI (_ZN3foo3barEi) the name with the classes and namespaces that it
 * is in, without arguments of functions and of templates (foo::bar). False: the symbol is none, or has
 * a name that is not made of identifiers, such as operator+.
 */
bool ptrc_mangled_name(const char *symbol, char name[PTRC_MANGLED_MAX]);

#endif
