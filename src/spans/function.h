/* SPDX-License-Identifier: MIT */
/* What pairs are called that have no name in common: those of ptrace-run --functions, each by its function, and
 * programs of the operating system. */
#ifndef PTRC_SRC_SPANS_FUNCTION_H
#define PTRC_SRC_SPANS_FUNCTION_H

#include "src/spans/pairs.h"

/* The address of the function that the event, which the view's reader has read, is the begin or the end
 * of. */
uint64_t ptrc_function_address(const struct ptrc_layouts *, struct ptrc_view *);

/* Puts what a function without a name is called: its place in its file, if the log tells that, or its
 * address. The reader has read an event of the process. */
void ptrc_function_put_place(struct ptrc_buffer *, const struct ptrc_reader *, uint64_t address);

/* Whether each pair of this kind is called by itself. */
bool ptrc_pair_has_own_name(const struct ptrc_pair *);

/* Puts what it is called: the program; the name of the function, if symbols, which the view may have, tell it,
 * or its place. The view's reader has read the event that begins the pair, or the one that ends a function. */
void ptrc_pair_put_own_name(struct ptrc_buffer *, const struct ptrc_pair *,
			    const struct ptrc_layouts *, struct ptrc_view *);

#endif
