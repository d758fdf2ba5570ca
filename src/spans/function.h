/* SPDX-License-Identifier: MIT */
/* Names of pairs that do not come from their event types: a call of a function (ptrace-run --functions) has the
 * name of the function, a program that a process executed (--os=process) the name of the program. */
#ifndef PTRC_SRC_SPANS_FUNCTION_H
#define PTRC_SRC_SPANS_FUNCTION_H

#include "src/spans/pairs.h"

/* The address of the function that begins or ends. The view's reader has read a function.begin or a function.end. */
uint64_t ptrc_function_address(const struct ptrc_layouts *, struct ptrc_view *);

/* Appends "function FILE+OFFSET" for an address in a process or, if the log does not say which file was mapped
 * there, "function ADDRESS". The reader has read an event of the process. */
void ptrc_function_put_place(struct ptrc_buffer *, const struct ptrc_reader *, uint64_t address);

/* Appends FILE+OFFSET for an address in a process or, if the log does not say which file was mapped there, the
 * address. The reader has read an event of the process. */
void ptrc_place_put(struct ptrc_buffer *, const struct ptrc_reader *, uint64_t address);

/* Whether the pair has a name of its own, because it is a function call or a program. */
bool ptrc_pair_has_own_name(const struct ptrc_pair *);

/* Appends the pair's own name: that of the program; or that of the function if the view's symbols know it, else
 * the function's place. The view's reader has read the first event of the pair or, for a function, one of its two
 * events. */
void ptrc_pair_put_own_name(struct ptrc_buffer *, const struct ptrc_pair *,
			    const struct ptrc_layouts *, struct ptrc_view *);

#endif
