/* SPDX-License-Identifier: MIT */
/* Patterns of names that have matched no name when a trace ends: usually a mistake. */
#ifndef PTRC_SRC_SESSION_UNMATCHED_H
#define PTRC_SRC_SESSION_UNMATCHED_H

#include <stddef.h>

#include <posixtrace-control.h>

#include "src/base/json.h"

/* Prints a message for each that is among these; thing may be null. */
void ptrc_unmatched_report(const struct posixtrace_pattern *, size_t count, const char *thing);
/* Puts the member "unmatched", if there are any. */
void ptrc_unmatched_json(const struct posixtrace_pattern *, size_t count, struct ptrc_json *);

#endif
