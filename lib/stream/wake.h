/* SPDX-License-Identifier: MIT */
/* Waking the processes that wait for something in a stream. */
#ifndef PTRC_LIB_STREAM_WAKE_H
#define PTRC_LIB_STREAM_WAKE_H

#include "lib/stream/stream_layout.h"

/* Wake every reader that waits for an event or for a change of state, so that it looks
 * again. */
void ptrc_stream_wake_readers(struct ptrc_stream_header *h);

/* Wake the keeper because the stream needs room. Writers call this for each chunk while
 * the stream is full enough; the bell is rung once until the keeper has heard it. */
void ptrc_ring_keeper(struct ptrc_stream_header *h);

#endif
