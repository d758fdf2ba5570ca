/* SPDX-License-Identifier: MIT */
/* Names of pairs that differ within one kind: calls recorded by ptrace-run --functions are named by the function,
 * programs of the operating system by the program. */
#ifndef PTRC_SRC_SPANS_FUNCTION_H
#define PTRC_SRC_SPANS_FUNCTION_H

#include "src/spans/pairs.h"

/* The address of the function in a function.begin or function.end, which the view's reader has read. */
uint64_t ptrc_function_address(const struct ptrc_layouts *, struct ptrc_view *);

/* Puts "function FILE+OFFSET", or with the address if the log does not say what was mapped there. The reader has read
 * an event of the process. */
void ptrc_function_put_place(struct ptrc_buffer *, const struct ptrc_reader *, uint64_t address);

/* Whether pairs of this kind have names of their own. */
bool ptrc_pair_has_own_name(const struct ptrc_pair *);

/* Puts that name: of the program; of the function if the view's symbols know it, else its place. The view's reader has
 * read the first event of the pair or, for a function, either. */
void ptrc_pair_put_own_name(struct ptrc_buffer *, const struct ptrc_pair *,
			    const struct ptrc_layouts *, struct ptrc_view *);

#endif
