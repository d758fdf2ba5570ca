/* SPDX-License-Identifier: MIT */
/*
 * The constructor, destructor and fork handlers of the library. They call all rooms that have
 * something to do when a process begins, forks or ends.
 *
 * A program linked with the static library gets only those objects of it that something refers to.
 * So each file of lib/api whose functions need the constructor includes this header, and the
 * pointer below brings the constructor into every program that calls one of them.
 */
#ifndef PTRC_LIB_LIFE_LIFE_H
#define PTRC_LIB_LIFE_LIFE_H

#include "lib/base/common.h"

void ptrc_life_begin(void);

PTRC_USED static void (*const ptrc_life_needed)(void) = ptrc_life_begin;

#endif
