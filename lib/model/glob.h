/* SPDX-License-Identifier: MIT */
/* Matching names against a pattern, as in a shell: *, ?, [a-z], [!a-z], [[:digit:]], and a
 * backslash before a literal character. fnmatch(3) is not used: it depends on the locale, but
 * names are bytes; and signal handlers may not call it, but they record events, for which names
 * are compared. */
#ifndef PTRC_LIB_MODEL_GLOB_H
#define PTRC_LIB_MODEL_GLOB_H

#include <stdbool.h>

/* Whether the whole name matches. Every text is a valid pattern: a '[' without its ']' is taken
 * literally. The time is proportional to the product of the two lengths; if the pattern has a '['
 * without its ']', to that product times the length of the pattern. Async-signal-safe. */
bool ptrc_glob_matches(const char *glob, const char *name);

#endif
