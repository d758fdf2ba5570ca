/* SPDX-License-Identifier: MIT */
/*
 * XRay of clang (-fxray-instrument): the compiler leaves room for a jump at the start and at each
 * end of a function. The XRay runtime, which is linked into the program, can write jumps to a
 * handler there while the program runs.
 */
#ifndef PTRC_LIB_PRELOAD_XRAY_H
#define PTRC_LIB_PRELOAD_XRAY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Arranges that `record` is called at the start and at each end of the selected functions. Does
 * nothing if the program was compiled without XRay, or if its symbol table does not contain the
 * XRay runtime. Called by the constructor, because no other thread may run code of the program
 * meanwhile.
 */
void ptrc_xray_begin(void (*record)(uint64_t function, bool is_end));

#endif
