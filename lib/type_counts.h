/* SPDX-License-Identifier: MIT */
/*
 * Counts per event type of a stream: of what was consumed, in the stream object. Changed by
 * the consumer alone, so adding is no atomic step. Freestanding.
 */
#ifndef PTRC_LIB_TYPE_COUNTS_H
#define PTRC_LIB_TYPE_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/stream_layout.h"

/* One more event, of a chunk of that epoch; HIDDEN ones do not count. */
void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch, uint32_t id_flags,
			  uint32_t len);

/* Around giving up room and adding what was in it. A keeper that dies in between leaves the
 * counts short of a part of one chunk's events; its successor mends the version. */
void ptrc_type_counts_begin(struct ptrc_type_counts *c);
void ptrc_type_counts_end(struct ptrc_type_counts *c);
void ptrc_type_counts_mend(struct ptrc_type_counts *c);

#endif
