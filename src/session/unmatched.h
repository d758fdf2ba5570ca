/* SPDX-License-Identifier: MIT */
/* Patterns of names that have matched no name when a trace ends: usually a mistake. */
#ifndef PTRC_SRC_SESSION_UNMATCHED_H
#define PTRC_SRC_SESSION_UNMATCHED_H

#include <stddef.h>

#include <posixtrace-control.h>

#include "src/cli/json.h"

struct ptrc_unmatched {
	struct posixtrace_pattern patterns[POSIXTRACE_PATTERNS_MAX];
	size_t count;
};

/* Copies those of the patterns that have matched no name. */
void ptrc_unmatched_take(struct ptrc_unmatched *, const struct posixtrace_pattern *, size_t count);
/* Does the same with the patterns of a stream. */
void ptrc_unmatched_gather(struct ptrc_unmatched *, trace_id_t);

/* Prints a message for each; thing may be null. */
void ptrc_unmatched_report(const struct ptrc_unmatched *, const char *thing);
/* Puts the member "unmatched", if there are any. */
void ptrc_unmatched_json(const struct ptrc_unmatched *, struct ptrc_json *);

#endif
