/* SPDX-License-Identifier: MIT */
/*
 * Room for records: which chunk a writer gets next, and when a stream is full.
 *
 * No process keeps a count of the bytes in a stream, because such a count would go wrong when a
 * process dies. A writer that needs room surveys the words of all chunks instead (some hundreds,
 * once in some hundreds of events), and gets room in its chunk for as much as the stream can
 * still take.
 */
#ifndef PTRC_LIB_STREAM_SPACE_H
#define PTRC_LIB_STREAM_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/writer.h"

/* Give the writer room for `need` bytes, in its chunk or in another one. False if the stream is
 * full: then w->is_room_coming says whether a flush would make any. A forced record may make the stream
 * hold more than stream-min-size. */
bool ptrc_space_make(struct ptrc_writer *w, uint32_t need, bool is_forced);

/* Bytes of events in the stream that are neither reported (plain stream) nor flushed (logged
 * stream). The keeper's own events do not count. */
uint64_t ptrc_space_used(const struct ptrc_pool *pool);

/* Of a LOOP stream: would the next event overwrite older ones, however small it is? */
bool ptrc_space_would_overwrite(const struct ptrc_pool *pool);

#endif
