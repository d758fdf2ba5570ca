/* SPDX-License-Identifier: MIT */
/*
 * The sink of ptrace-export. It selects what is exported: events, pairs of events as slices of time, numbers
 * as counters, and losses. A format (format.h) writes all this.
 */
#ifndef PTRC_SRC_EXPORT_EXPORT_H
#define PTRC_SRC_EXPORT_EXPORT_H

#include <stdbool.h>

#include "src/export/format.h"
#include "src/spans/pairs.h"
#include "src/query/query.h"

/* Makes an export, and has the query give it the events. The caller has opened the query's sources and has
 * added the pairs of --pair. Stores the export, which the caller frees in any case. Returns false after a
 * message. */
bool ptrc_export_begin(struct ptrc_export **, struct ptrc_query *, struct ptrc_pairs *,
		       const struct ptrc_export_options *);

void ptrc_export_free(struct ptrc_export *);

#endif
