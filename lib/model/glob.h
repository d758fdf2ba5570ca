/* SPDX-License-Identifier: MIT */
/* Matching names against a pattern, as in a shell: *, ?, [a-z], [!a-z], [[:digit:]], and a
 * backslash before a literal character. fnmatch(3) would depend on the locale, and names are
 * bytes; nor may a signal handler call it, as the cold way of an event must. */
#ifndef PTRC_LIB_MODEL_GLOB_H
#define PTRC_LIB_MODEL_GLOB_H

#include <stdbool.h>

/* Every text is a pattern: a bracket without its end stands for itself. The time is proportional
 * to the product of the lengths, times the length of the pattern if it has such a bracket.
 * Async-signal-safe. */
bool ptrc_glob_matches(const char *glob, const char *name);

#endif
