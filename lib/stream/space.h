/* SPDX-License-Identifier: MIT */
/*
 * Room for records: which chunk a writer gets next, and when a stream is full.
 *
 * No process keeps a count of the bytes in a stream, because the count would be wrong after a
 * process dies. A writer that needs room surveys the words of all chunks instead (some hundreds,
 * once in some hundreds of events), and may then fill its chunk as far as the stream has room.
 */
#ifndef PTRC_LIB_STREAM_SPACE_H
#define PTRC_LIB_STREAM_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/writer.h"

/* Gives the writer room for `need` bytes, in its chunk or in another chunk. False if the stream
 * is full; w->is_room_coming then says whether a flush would make room. With is_forced the stream
 * may hold more than stream-min-size. */
bool ptrc_space_make(struct ptrc_writer *w, uint32_t need, bool is_forced);

/* Bytes of the events in the stream that are not yet reported (stream without a log) or flushed
 * (logged stream), without the events that the keeper itself has recorded. */
uint64_t ptrc_space_used(const struct ptrc_pool *pool);

/* Whether the next event of a LOOP stream, even the smallest, would overwrite other events. */
bool ptrc_space_would_overwrite(const struct ptrc_pool *pool);

#endif
