/* SPDX-License-Identifier: MIT */
/*
 * Lines of output that wait for what comes behind them: the last so many, or those that
 * are shown if something happens.
 */
#ifndef PTRC_SRC_VIEW_LINES_H
#define PTRC_SRC_VIEW_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "src/cli/buffer.h"

struct ptrc_line {
	/* Time of the event. */
	int64_t ns;
	/* With no room to spare: there may be millions of lines. */
	char *text;
	size_t used;
	size_t size;
};

/* A ring that grows; starts zeroed. */
struct ptrc_lines {
	struct ptrc_line *lines;
	size_t size;
	size_t first;
	size_t count;
	/* Memory that the lines take. */
	size_t bytes;
	/* Of the last that was let go of, for the next. */
	char *spare;
	size_t spare_size;
};

/* Takes the text out of the buffer. */
void ptrc_lines_add(struct ptrc_lines *, int64_t ns, struct ptrc_buffer *);

/* The oldest; only if there is one. */
const struct ptrc_line *ptrc_lines_first(const struct ptrc_lines *);

/* Lets go of the oldest. */
void ptrc_lines_drop(struct ptrc_lines *);

void ptrc_lines_free(struct ptrc_lines *);

#endif
