/* SPDX-License-Identifier: MIT */
/* Patterns (lib/model/glob.h) that ptrace-run passes in an environment variable, one on each
 * line. */
#ifndef PTRC_LIB_PRELOAD_PATTERNS_H
#define PTRC_LIB_PRELOAD_PATTERNS_H

#include <stdbool.h>

struct ptrc_patterns {
	/* The patterns, each followed by a null byte; an empty pattern ends the list. NULL:
	 * ptrc_patterns_read() has failed. */
	char *globs;
};

/* Copies the patterns from the environment variable, because the program may change its
 * environment. Returns false if the variable is not set, or if there is no memory. */
bool ptrc_patterns_read(struct ptrc_patterns *, const char *variable);

bool ptrc_patterns_match(const struct ptrc_patterns *, const char *name);

#endif
