/* SPDX-License-Identifier: MIT */
/*
 * A copy of a LOOP stream at a moment, in private memory: for a snapshot, because a fast program
 * overwrites the stream sooner than a reader can read it.
 *
 * The chunks are copied unchanged, the newest first, each under a pin held only for the copying.
 * Writers overwrite the oldest chunks first, so copying and overwriting meet at some chunk. Older
 * chunks are missing from the copy; they form a gap at its start, like events that were lost
 * earlier. The copy is a stream of its own without writers. An event whose call had not returned
 * at the moment of the copy may be missing.
 */
#ifndef PTRC_LIB_STREAM_STREAM_COPY_H
#define PTRC_LIB_STREAM_STREAM_COPY_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/stream/stream.h"

struct ptrc_stream_copy {
	struct ptrc_stream stream; /* the copy, in private memory; only header, pool and map_size
				    * are set */
	uint64_t moment;	   /* stamp of the moment of the copy; some later events may be
				    * missing */
	/* events that existed at the moment and were then overwritten or flushed */
	uint64_t missed;
};

/* Copies the stream. The caller holds the lock of the readers of this process, because they use
 * the same pin. Takes as much memory as the stream uses. 0 or ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_stream_copy_make(struct ptrc_stream_copy *copy, struct ptrc_stream *from);
/* Frees the memory of the copy. Does nothing if *copy is all zeros. */
PTRC_NONNULL() void ptrc_stream_copy_free(struct ptrc_stream_copy *copy);

#endif
