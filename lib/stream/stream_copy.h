/* SPDX-License-Identifier: MIT */
/*
 * What a LOOP stream holds at a moment, in private memory: for a snapshot, as a program that records fast
 * overwrites the stream sooner than a reader can go through it.
 *
 * The chunks are copied as they are, the newest first, each under a pin as short as the copying takes.
 * Writers overwrite the oldest first, so the two meet somewhere: what was overwritten by then is missing,
 * and is a gap at the beginning of the copy like any loss before it. The copy then is a stream of its own
 * that nobody changes, with nobody at work in it. An event whose call had not returned at the moment may
 * be missing.
 */
#ifndef PTRC_LIB_STREAM_STREAM_COPY_H
#define PTRC_LIB_STREAM_STREAM_COPY_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/stream/stream.h"

struct ptrc_stream_copy {
	struct ptrc_stream stream; /* in private memory; has header, pool and map_size only */
	uint64_t moment; /* the stamp of the moment; later events belong to it only in part */
	uint64_t missed; /* events that were there at the moment, and overwritten or flushed then */
};

/* Copies the stream. The caller has the lock of the readers of this process, who pin by the same bit.
 * Takes as much memory as the stream has in use. Returns 0 or ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_stream_copy_make(struct ptrc_stream_copy *copy, struct ptrc_stream *from);
/* Also of one that is zeroed. */
PTRC_NONNULL() void ptrc_stream_copy_free(struct ptrc_stream_copy *copy);

#endif
