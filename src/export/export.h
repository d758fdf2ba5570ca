/* SPDX-License-Identifier: MIT */
/*
 * Events in the formats of other programs, in place of lines: what ptrace-export does, once its
 * options are read. This decides what is exported: events, pairs of them as slices of time, numbers
 * as counters, and losses. A format, which format.h describes, writes them.
 */
#ifndef PTRC_SRC_EXPORT_EXPORT_H
#define PTRC_SRC_EXPORT_EXPORT_H

#include <stdbool.h>

#include "src/export/format.h"
#include "src/spans/pairs.h"
#include "src/query/query.h"

/* Lets the events of the query, whose sources are open, be exported. The pairs of --pair have been
 * added, and stay. Stores the export, which is to be freed
 * in any case. Returns false after a message. */
bool ptrc_export_begin(struct ptrc_export **, struct ptrc_query *, struct ptrc_pairs *,
		       const struct ptrc_export_options *);

void ptrc_export_free(struct ptrc_export *);

#endif
