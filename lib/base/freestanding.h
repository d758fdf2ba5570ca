/* SPDX-License-Identifier: MIT */
/*
 * This header is included first in each file of the keeper (-include). In a freestanding program
 * the compiler treats memcpy() as an ordinary function and calls it even for eight bytes. With
 * the names __builtin_..., the compiler expands small copies to a few instructions.
 */
#ifndef PTRC_LIB_BASE_FREESTANDING_H
#define PTRC_LIB_BASE_FREESTANDING_H

#include <string.h>

#define memcpy(to, from, count) __builtin_memcpy(to, from, count)
#define memmove(to, from, count) __builtin_memmove(to, from, count)
#define memset(to, value, count) __builtin_memset(to, value, count)
#define memcmp(a, b, count) __builtin_memcmp(a, b, count)

#endif
