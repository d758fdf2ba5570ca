/* SPDX-License-Identifier: MIT */
/* For messages that ask "did you mean": finds the known names that are most similar to a misspelt one. */
#ifndef PTRC_SRC_BASE_NEAREST_H
#define PTRC_SRC_BASE_NEAREST_H

#include <stddef.h>

enum { PTRC_NEAREST_MAX = 3 };

struct ptrc_nearest {
	const char *names[PTRC_NEAREST_MAX];
	unsigned int distances[PTRC_NEAREST_MAX];
	size_t count;
};

/* Keeps a pointer to a known name if the name is similar to the wanted name, and among the most similar names so
 * far. The structure is zeroed at the start. */
void ptrc_nearest_offer(struct ptrc_nearest *, const char *wanted, const char *name);

/* Stores " (did you mean 'a', 'b' or 'c'?)", or "" if no name was similar. Returns the buffer. */
const char *ptrc_nearest_text(const struct ptrc_nearest *, char *buffer, size_t size);

#endif
