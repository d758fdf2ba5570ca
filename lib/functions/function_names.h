/* SPDX-License-Identifier: MIT */
/* The names that functions have in the symbol tables of what the process has mapped. By system calls
 * only: whoever asks may be anywhere in the program, also inside the dynamic linker. */
#ifndef PTRC_LIB_FUNCTIONS_FUNCTION_NAMES_H
#define PTRC_LIB_FUNCTIONS_FUNCTION_NAMES_H

#include <stdint.h>

/*
 * Calls visit() for each function that the symbol table has of the executable or library in which the
 * address is: of the whole table (.symtab) or, if that was stripped, of that of the dynamic linker.
 * Without a file that can be read, or without a symbol table, nothing is called. Takes some hundred
 * bytes of stack, and a mapping for as long as it runs.
 */
void ptrc_function_names(uint64_t address, void (*visit)(uint64_t function, const char *name));

#endif
