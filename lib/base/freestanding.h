/* SPDX-License-Identifier: MIT */
/*
 * Included before everything else when the keeper's program is compiled. Without the C
 * library a compiler takes memcpy() for any function; by these names it knows it again,
 * and copies of a few bytes become a few instructions.
 */
#ifndef PTRC_LIB_BASE_FREESTANDING_H
#define PTRC_LIB_BASE_FREESTANDING_H

#include <string.h>

#define memcpy(to, from, count) __builtin_memcpy(to, from, count)
#define memmove(to, from, count) __builtin_memmove(to, from, count)
#define memset(to, value, count) __builtin_memset(to, value, count)
#define memcmp(a, b, count) __builtin_memcmp(a, b, count)

#endif
