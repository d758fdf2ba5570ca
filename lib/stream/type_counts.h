/* SPDX-License-Identifier: MIT */
/*
 * Counts by event type of the events that were consumed from a stream. They stand in the
 * stream object. Only the consumer changes them, so adding is no atomic step.
 */
#ifndef PTRC_LIB_STREAM_TYPE_COUNTS_H
#define PTRC_LIB_STREAM_TYPE_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* Events of one type, to be added to the counts. */
struct ptrc_type_sum {
	uint32_t id; /* below PTRC_TYPE_COUNT */
	uint32_t events;
	uint32_t bytes; /* of data */
	uint32_t truncated;
};

/* Add events that were recorded in this epoch. */
void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch,
			  const struct ptrc_type_sum *sum);

/* The keeper calls begin, gives back the room of events, adds them to the counts and
 * calls end; in between the version is odd, and nobody trusts the counts. If it dies
 * there, the counts lack some events of one chunk, and the keeper that takes over mends
 * the version. */
void ptrc_type_counts_begin(struct ptrc_type_counts *c);
void ptrc_type_counts_end(struct ptrc_type_counts *c);
void ptrc_type_counts_mend(struct ptrc_type_counts *c);

#endif
