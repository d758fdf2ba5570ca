/* SPDX-License-Identifier: MIT */
/* Patterns (lib/model/glob.h) that ptrace-run passes in an environment variable, one on each
 * line. */
#ifndef PTRC_LIB_PRELOAD_PATTERNS_H
#define PTRC_LIB_PRELOAD_PATTERNS_H

#include <stdbool.h>

/* Copies the patterns from the environment variable, because the program may change its
 * environment. Returns them, each followed by a null byte, with an empty one at the end; NULL if the
 * variable is not set, or if there is no memory. */
char *ptrc_patterns_read(const char *variable);

bool ptrc_patterns_match(const char *patterns, const char *name);

#endif
