/* SPDX-License-Identifier: MIT */
/* Patterns that have matched no event name by the end of a trace, usually because the user made a mistake in
 * them. */
#ifndef PTRC_SRC_SESSION_UNMATCHED_H
#define PTRC_SRC_SESSION_UNMATCHED_H

#include <stddef.h>

#include <posixtrace-control.h>

#include "src/base/json.h"

/* Prints a message for each pattern that has matched no name. The message is about `thing`, which may be NULL. */
void ptrc_unmatched_report(const struct posixtrace_pattern *, size_t count, const char *thing);
/* Puts the member "unmatched" if any pattern has matched no name. */
void ptrc_unmatched_json(const struct posixtrace_pattern *, size_t count, struct ptrc_json *);

#endif
