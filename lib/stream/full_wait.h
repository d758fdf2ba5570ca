/* SPDX-License-Identifier: MIT */
/*
 * Waiting for room: what an event call does when a stream with a full-wait has none. It sleeps, on
 * header.room_word, until the keeper has made room by a flush, and then looks for room again.
 *
 * A stretch is a time in which nobody made room. It takes as long as the stream's full-wait at
 * most; then the caller stops the stream, as it would have done at once without a full-wait. As a
 * stopped stream loses events without looking for room, nobody waits again until the keeper has
 * flushed everything and restarts the stream.
 *
 * No wake-up is missed: the writer makes room_word odd, looks for room once more, and sleeps only
 * while the word is what it has made of it; who makes room looks for the odd word afterwards. And
 * as a process may be killed between the two steps of a wake-up, nobody sleeps for long without
 * a look.
 */
#ifndef PTRC_LIB_STREAM_FULL_WAIT_H
#define PTRC_LIB_STREAM_FULL_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* The wait of one event call. */
struct ptrc_full_wait {
	struct ptrc_stream_header *header; /* the stream */
	uint64_t full_wait_ns;
	int64_t begin_ns;   /* of the stretch, CLOCK_MONOTONIC; 0: there was none as yet */
	uint32_t made;	    /* header.room_made then */
	uint32_t word;	    /* header.room_word while it sleeps */
	uint32_t stretches; /* how many it has begun */
	bool has_slept;
	bool is_over; /* there is nothing to wait for, or the stretch took too long */
};

/* The caller has read the full-wait once, before anything could damage it. With 0 the wait is over
 * at once. */
static inline struct ptrc_full_wait ptrc_full_wait_begin(struct ptrc_stream_header *h,
							 uint64_t full_wait_ns)
{
	return (struct ptrc_full_wait){
		.header = h, .full_wait_ns = full_wait_ns, .is_over = full_wait_ns == 0};
}

/*
 * Called when the stream has no room, until it has some or w->is_over. The first call only
 * announces that the caller is about to sleep, so that it looks for room once more; the next ones
 * sleep. Signals are blocked; while this sleeps they are as in *mask, and handlers run. False:
 * this process is a child that a handler forked meanwhile; it must not touch the stream.
 */
bool ptrc_full_wait(struct ptrc_full_wait *w, uint64_t *mask);

#endif
