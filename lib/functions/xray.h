/* SPDX-License-Identifier: MIT */
/*
 * XRay of clang (-fxray-instrument) leaves room for a jump at the start and ends of functions;
 * its runtime, which is linked into the program, patches in jumps to a handler while the program
 * runs.
 */
#ifndef PTRC_LIB_FUNCTIONS_XRAY_H
#define PTRC_LIB_FUNCTIONS_XRAY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Has `record` called at the start and each end of the selected functions, if the program has
 * XRay and its symbol table has the runtime. Called by the constructor: no other thread may run
 * code of the program meanwhile.
 */
void ptrc_xray_begin(void (*record)(uint64_t function, bool is_end));

#endif
