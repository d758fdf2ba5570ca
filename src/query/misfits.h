/* SPDX-License-Identifier: MIT */
/* Reports data that does not fit its layout, once for each event type. */
#ifndef PTRC_SRC_QUERY_MISFITS_H
#define PTRC_SRC_QUERY_MISFITS_H

#include <stddef.h>

#include "src/base/json.h"
#include "src/fields/layout.h"
#include "src/query/reader.h"

struct ptrc_misfit_type {
	char *name;
	const struct ptrc_layout *layout;
	struct ptrc_misfits sum;
};

/* Starts zeroed. */
struct ptrc_misfit_types {
	struct ptrc_misfit_type *types;
	size_t count;
};

/* Adds the misfits of the reader, which are the events whose data does not fit the layout. Event types of several
 * logs share one entry if they have the same name and layout. */
void ptrc_misfits_take(struct ptrc_misfit_types *, const struct ptrc_reader *);

/* Resets the counts of the reader's event types, before its events are read again. */
void ptrc_misfits_forget(struct ptrc_reader *);

void ptrc_misfits_report(const struct ptrc_misfit_types *);

/* The number of all events that do not fit their layouts. */
uint64_t ptrc_misfits_count(const struct ptrc_misfit_types *);

void ptrc_misfits_json(const struct ptrc_misfit_types *, struct ptrc_json *);

void ptrc_misfits_free(struct ptrc_misfit_types *);

#endif
