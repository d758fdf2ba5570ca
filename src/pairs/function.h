/* SPDX-License-Identifier: MIT */
/* What the pairs of ptrace-run --functions are called: each by its function. */
#ifndef PTRC_SRC_PAIRS_FUNCTION_H
#define PTRC_SRC_PAIRS_FUNCTION_H

#include "src/pairs/pairs.h"

/* The address of the function that the event, which the view's reader has read, is the begin or the end
 * of. */
uint64_t ptrc_function_address(const struct ptrc_layouts *, struct ptrc_view *);

/* Puts what a function without a name is called: its place in its file, if the log tells that, or its
 * address. The reader has read an event of the process. */
void ptrc_function_put_place(struct ptrc_buffer *, const struct ptrc_reader *, uint64_t address);

/* Puts the name of the function, if symbols, which the view may have, tell it; else its place. */
void ptrc_function_put_name(struct ptrc_buffer *, const struct ptrc_layouts *, struct ptrc_view *);

#endif
