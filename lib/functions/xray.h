/* SPDX-License-Identifier: MIT */
/*
 * XRay of clang (-fxray-instrument) leaves room for a jump at the begin and the ends of functions, and its
 * runtime, which is linked into the program, can make such jumps to a handler while the program runs.
 */
#ifndef PTRC_LIB_FUNCTIONS_XRAY_H
#define PTRC_LIB_FUNCTIONS_XRAY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Has `record` called at the begin and each end of those functions that are selected, if this is a program
 * with XRay whose symbol table tells where the runtime is. For the constructor: no other thread may
 * run code of the program meanwhile.
 */
void ptrc_xray_begin(void (*record)(uint64_t function, bool is_end));

#endif
