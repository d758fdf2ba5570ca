/* SPDX-License-Identifier: MIT */
/* Shows why threads waited (src/spans/waits.h), as tables of text or as JSON. */
#ifndef PTRC_SRC_SPANS_WAIT_REPORT_H
#define PTRC_SRC_SPANS_WAIT_REPORT_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/base/json.h"
#include "src/spans/waits.h"

enum {
	/* The most rows that a table of text shows, and the most holders and places that it shows below a lock. */
	PTRC_WAITS_ROWS = 20,
	PTRC_WAITS_SHARES = 3,
};

/* The keys of the JSON arrays of the rows of each kind. */
extern const char *const ptrc_waits_keys[PTRC_WAITS_KINDS];

/* Appends the tables. Called after ptrc_waits_end(). */
void ptrc_waits_put_text(struct ptrc_buffer *, const struct ptrc_waits *);

/* Puts the JSON members from "took_ns" to "children" into the open object, with at most this many objects in each
 * array. */
void ptrc_waits_json(struct ptrc_json *, const struct ptrc_waits *, size_t rows_max);

/* If the sources have neither waits nor times on processors, prints a message and returns true. */
bool ptrc_waits_report_missing(const struct ptrc_waits *);

#endif
