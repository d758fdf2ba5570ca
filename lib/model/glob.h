/* SPDX-License-Identifier: MIT */
/* Names that match a pattern, as in a shell: *, ?, [a-z], [!a-z], [[:digit:]], and a backslash
 * that takes the meaning from what follows. fnmatch(3) is not used, because the event path's cold
 * way compares names, in a signal handler too, and because names are bytes in every locale. */
#ifndef PTRC_LIB_MODEL_GLOB_H
#define PTRC_LIB_MODEL_GLOB_H

#include <stdbool.h>

/* No pattern is an error: a bracket that does not end stands for itself. Takes time in proportion
 * to the product of the two lengths, times the length of the pattern if such a bracket is in it.
 * Async-signal-safe. */
bool ptrc_glob_matches(const char *glob, const char *name);

#endif
