/* SPDX-License-Identifier: MIT */
/*
 * Waiting for room: what an event call does when a stream with a full-wait has no room. It sleeps
 * on header.room_word until the keeper has made room by a flush, and then looks for room again.
 *
 * A stretch is a time in which no room is made. It lasts at most as long as the stream's full-wait;
 * then the caller stops the stream, as it would have done at once without a full-wait. A stopped
 * stream loses events without looking for room, so no call waits again until the keeper has flushed
 * everything and restarts the stream.
 *
 * No wake-up is missed: the writer makes room_word odd, looks for room again, and sleeps only while
 * the word has that value; a process that makes room looks for the odd word afterwards. As a
 * process may be killed between the two steps of a wake-up, a sleep lasts only 100 ms at a time.
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
	int64_t begin_ns;   /* start of the stretch, CLOCK_MONOTONIC; 0: none so far */
	uint32_t made;	    /* header.room_made at its start */
	uint32_t word;	    /* header.room_word while it sleeps */
	uint32_t stretches; /* number of stretches started */
	bool has_slept;
	bool is_over; /* waiting is useless, or the stretch took too long */
};

/* full_wait_ns is a private copy of the stream's, which might be damaged later. With 0 the wait
 * is over at once. */
static inline struct ptrc_full_wait ptrc_full_wait_begin(struct ptrc_stream_header *h,
							 uint64_t full_wait_ns)
{
	return (struct ptrc_full_wait){
		.header = h, .full_wait_ns = full_wait_ns, .is_over = full_wait_ns == 0};
}

/*
 * Called while the stream has no room, until it has some or w->is_over. The first call only
 * announces that the caller is about to sleep, so that it looks for room again; later ones sleep.
 * Signals are blocked, but during the sleep they are as in *mask, and handlers run. False: this
 * process is a child that a handler has forked; it must not touch the stream.
 */
bool ptrc_full_wait(struct ptrc_full_wait *w, uint64_t *mask);

#endif
