/* SPDX-License-Identifier: MIT */
/* Names of functions, from the symbol tables of the files that the process has mapped. Makes only
 * raw system calls: the caller may be anywhere in the program, even inside the dynamic linker. */
#ifndef PTRC_LIB_PRELOAD_FUNCTION_NAMES_H
#define PTRC_LIB_PRELOAD_FUNCTION_NAMES_H

#include <stdint.h>

/*
 * Calls visit() for each function in the symbol table of the executable or library that is mapped
 * at the address: in .symtab or, if that was stripped, in .dynsym. Does nothing if there is no
 * readable file or symbol table. Needs some hundred bytes of stack, and memory that it maps and
 * unmaps.
 */
void ptrc_function_names(uint64_t address, void (*visit)(uint64_t function, const char *name));

#endif
