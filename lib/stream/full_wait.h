/* SPDX-License-Identifier: MIT */
/*
 * Waiting for room: what an event call does when a stream that has a full-wait is full. The call
 * sleeps on header.room_word until the keeper has made room by a flush, and then looks for room
 * again.
 *
 * A stretch is an interval in which no room is made. After a stretch as long as the stream's
 * full-wait, the caller stops the stream, as it would have done at once without a full-wait. A
 * stopped stream loses events without looking for room, so no call waits again until the keeper
 * has flushed everything and restarts the stream.
 *
 * No wake-up is missed: the writer makes room_word odd, looks for room again, and sleeps only
 * while the word has that value. A process that makes room looks for an odd word afterwards, and
 * if it finds one, changes the word and then wakes the writers. As that process may be killed
 * between the change and the wake-up, a writer sleeps only 100 ms at a time.
 */
#ifndef PTRC_LIB_STREAM_FULL_WAIT_H
#define PTRC_LIB_STREAM_FULL_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* How long one event call has waited for space in a full stream. A stretch is a time in which no space
 * was made; each time a flush makes space, a new stretch starts. The full-wait limits each stretch,
 * not the whole call. */
struct ptrc_full_wait {
	struct ptrc_stream_header *header;
	uint64_t full_wait_ns;
	int64_t begin_ns;   /* start of the current stretch, CLOCK_MONOTONIC; 0: no stretch has
			     * started */
	uint32_t made;	    /* header.room_made at the start of the stretch */
	uint32_t word;	    /* value of header.room_word while the call sleeps */
	uint32_t stretches; /* number of stretches started */
	bool has_slept;
	bool is_over; /* waiting is useless, or the stretch has lasted for the full-wait */
};

/* full_wait_ns is a private copy of the stream's value, because the value in shared memory might
 * be damaged later. With 0 the wait is over at once. */
static inline struct ptrc_full_wait ptrc_full_wait_begin(struct ptrc_stream_header *h,
							 uint64_t full_wait_ns)
{
	return (struct ptrc_full_wait){
		.header = h, .full_wait_ns = full_wait_ns, .is_over = full_wait_ns == 0};
}

/*
 * The caller calls this and looks for room again, until the stream has room or w->is_over. The
 * first call of a wait only announces that the caller is about to sleep; a later call sleeps,
 * unless a flush has made room since the call before it. The caller has blocked signals; during the
 * sleep the signal mask is *mask, so handlers run. False: this process is a child that a handler
 * has forked, and it must not touch the stream.
 */
bool ptrc_full_wait(struct ptrc_full_wait *w, uint64_t *mask);

#endif
