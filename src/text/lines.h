/* SPDX-License-Identifier: MIT */
/* Lines of output that wait until it is known whether they are shown: those of --last, or those before an event of
 * --around. */
#ifndef PTRC_SRC_TEXT_LINES_H
#define PTRC_SRC_TEXT_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"

struct ptrc_line {
	struct ptrc_line *next;
	/* The time of the event, in nanoseconds since 1970. */
	int64_t ns;
	size_t used;
	char text[];
};

/* A list, the oldest line first. Starts zeroed. */
struct ptrc_lines {
	struct ptrc_line *first;
	struct ptrc_line *last;
	size_t count;
	/* Their memory. */
	size_t bytes;
};

/* Moves the text from the buffer to a new line. */
void ptrc_lines_add(struct ptrc_lines *, int64_t ns, struct ptrc_buffer *);

/* For --last: does the same, but drops the oldest line if there are `max` already. With 0, drops the text. */
void ptrc_lines_keep(struct ptrc_lines *, uint64_t max, struct ptrc_buffer *);

/* Frees the oldest line. There must be one. */
void ptrc_lines_drop(struct ptrc_lines *);

#endif
