/* SPDX-License-Identifier: MIT */
/* Patterns that ptrace-run passes to the preloaded library in an environment variable, one on each line. */
#ifndef PTRC_LIB_PRELOAD_PATTERNS_H
#define PTRC_LIB_PRELOAD_PATTERNS_H

#include <stdbool.h>

struct ptrc_patterns {
	/* The patterns, each followed by a null byte; an empty pattern ends the list. NULL: none. */
	char *globs;
};

/* Copies the patterns, because the program may change its environment. Returns false if the variable is not set,
 * or if memory is short. */
bool ptrc_patterns_read(struct ptrc_patterns *, const char *variable);

bool ptrc_patterns_match(const struct ptrc_patterns *, const char *name);

#endif
