/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean": the known names that are most like a misspelt one.
 */
#ifndef PTRC_SRC_CLI_NEAREST_H
#define PTRC_SRC_CLI_NEAREST_H

#include <stddef.h>

/* Never more than so many are proposed. */
enum { PTRC_NEAREST_MAX = 3 };

struct ptrc_nearest {
	const char *names[PTRC_NEAREST_MAX];
	unsigned int distances[PTRC_NEAREST_MAX];
	size_t count;
};

/*
 * Considers one known name, which has to stay. Starts zeroed. A name that has little in
 * common with the wanted one is passed over; so is one that is there already.
 */
void ptrc_nearest_offer(struct ptrc_nearest *, const char *wanted, const char *name);

/*
 * " (did you mean 'a', 'b' or 'c'?)" or an empty text. Returns the buffer.
 */
const char *ptrc_nearest_text(const struct ptrc_nearest *, char *buffer, size_t size);

#endif
