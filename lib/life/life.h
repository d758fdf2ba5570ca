/* SPDX-License-Identifier: MIT */
/*
 * The life cycle of the library in a process: constructor, destructor, fork handlers. It stands
 * above all rooms that have something to do at these moments, and calls down into them.
 *
 * A program that is linked with the static library gets only those objects of it that something
 * refers to. So each file of lib/api with functions that need the life cycle includes this header,
 * and the pointer below brings the constructor into every program that calls one of them.
 */
#ifndef PTRC_LIB_LIFE_LIFE_H
#define PTRC_LIB_LIFE_LIFE_H

#include "lib/base/common.h"

/* The constructor. */
void ptrc_life_begin(void);

PTRC_USED static void (*const ptrc_life_needed)(void) = ptrc_life_begin;

#endif
