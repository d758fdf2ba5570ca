/* SPDX-License-Identifier: MIT */
/*
 * Counts per event type of a stream: of what was consumed, in the stream object. Changed by
 * the consumer alone, so adding is no atomic step. Freestanding.
 */
#ifndef PTRC_LIB_STREAM_TYPE_COUNTS_H
#define PTRC_LIB_STREAM_TYPE_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* Events of one type on their way there. */
struct ptrc_type_sum {
	uint32_t id; /* below PTRC_TYPE_COUNT */
	uint32_t events;
	uint32_t bytes; /* of data */
	uint32_t truncated;
};

/* So many more, of a chunk of that epoch. */
void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch,
			  const struct ptrc_type_sum *sum);

/* Around giving up room and adding what was in it. A keeper that dies in between leaves the
 * counts short of a part of one chunk's events; its successor mends the version. */
void ptrc_type_counts_begin(struct ptrc_type_counts *c);
void ptrc_type_counts_end(struct ptrc_type_counts *c);
void ptrc_type_counts_mend(struct ptrc_type_counts *c);

#endif
