/* SPDX-License-Identifier: MIT */
/*
 * Included before everything else when the keeper's program is compiled. In a freestanding
 * program the compiler takes memcpy() for a function like any other and calls it even for eight
 * bytes. By these names it knows what the function does, and makes a few instructions of it.
 */
#ifndef PTRC_LIB_BASE_FREESTANDING_H
#define PTRC_LIB_BASE_FREESTANDING_H

#include <string.h>

#define memcpy(to, from, count) __builtin_memcpy(to, from, count)
#define memmove(to, from, count) __builtin_memmove(to, from, count)
#define memset(to, value, count) __builtin_memset(to, value, count)
#define memcmp(a, b, count) __builtin_memcmp(a, b, count)

#endif
