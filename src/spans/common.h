/* SPDX-License-Identifier: MIT */
/*
 * The common field of a pair whose events are paired by thread: the first field of begin events that an end event has,
 * too. If its values contradict the pairs, it is probably the field by which the pairs should be formed.
 *
 * Before an end event comes, nothing says which fields end events have: their type may be of another log, and JSON data
 * may have any members. So the values of several fields of begin events are noted until then.
 */
#ifndef PTRC_SRC_SPANS_COMMON_H
#define PTRC_SRC_SPANS_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/query/view.h"

/* How many fields of begin events may become the common field. */
enum { PTRC_COMMON_FIELDS = 8 };

/* Starts zeroed, which means that no common field is sought. */
struct ptrc_common {
	enum { PTRC_COMMON_NONE, PTRC_COMMON_SOUGHT, PTRC_COMMON_FOUND } state;
	/* The fields that begin events had while the common field was sought, in the order in which they came. */
	struct ptrc_field fields[PTRC_COMMON_FIELDS];
	size_t count;
	/* The index of the common field in .fields, once it is found. */
	size_t found;
	/* How many end events had none of the fields. */
	unsigned int vain_count;
};

/* Takes the event that the view has read, which begins or ends a pair. Stores in hashes[i] the hash of its value in
 * .fields[i], or 0 if it lacks this field. Once the common field is found, stores only the hash of that field. */
void ptrc_common_take(struct ptrc_common *, struct ptrc_view *, bool is_end, uint64_t hashes[]);

/* The name of the common field, without "data."; NULL if none is found. */
const char *ptrc_common_name(const struct ptrc_common *);

#endif
