/* SPDX-License-Identifier: MIT */
/* The counts of a stream or a log as a list of named figures for programs. */
#ifndef PTRC_LIB_API_FIGURES_H
#define PTRC_LIB_API_FIGURES_H

#include <stddef.h>

#include "include/posixtrace-private.h"

/* Stores the counts in the array as figures, at most the first `size` of them. Returns the number
 * of all figures. */
size_t ptrc_figures_get(const struct ptrc_counts *, struct posixtrace_count *, size_t size);
/* Sets the member of ptrc_counts that has the name of the figure. Does nothing if there is no
 * such member. */
void ptrc_figures_set(struct ptrc_counts *, const struct posixtrace_count *);

#endif
