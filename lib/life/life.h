/* SPDX-License-Identifier: MIT */
/*
 * The constructor, destructor and fork handlers of the library. They call the parts of the library
 * (folders of lib/) that have something to do when a process starts, forks or ends.
 *
 * A program that is linked with the static library gets only those object files of it that
 * something refers to. So each file of lib/api whose functions need the constructor includes this
 * header: by the pointer below, every program that calls one of these functions refers to the
 * constructor.
 */
#ifndef PTRC_LIB_LIFE_LIFE_H
#define PTRC_LIB_LIFE_LIFE_H

#include "lib/base/common.h"

void ptrc_life_begin(void);

PTRC_USED static void (*const ptrc_life_needed)(void) = ptrc_life_begin;

#endif
