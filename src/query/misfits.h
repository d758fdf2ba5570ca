/* SPDX-License-Identifier: MIT */
/* Data that does not fit its layout, told once for each event type. */
#ifndef PTRC_SRC_QUERY_MISFITS_H
#define PTRC_SRC_QUERY_MISFITS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/json.h"
#include "src/fields/layout.h"
#include "src/query/reader.h"

/* An event type. */
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

/* Adds what the types of the reader have met. Types of several logs that have one name and layout are one. */
void ptrc_misfits_take(struct ptrc_misfit_types *, const struct ptrc_reader *);

/* The events of the reader come once more. */
void ptrc_misfits_forget(struct ptrc_reader *);

/* Prints a message for each event type. */
void ptrc_misfits_report(const struct ptrc_misfit_types *);

/* How many events there are in all. */
uint64_t ptrc_misfits_count(const struct ptrc_misfit_types *);

/* Puts the member "misfits". */
void ptrc_misfits_json(const struct ptrc_misfit_types *, struct ptrc_json *);

void ptrc_misfits_free(struct ptrc_misfit_types *);

#endif
