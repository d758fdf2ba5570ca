/* SPDX-License-Identifier: MIT */
/*
 * The fast way of recording an event: the usual case, inline in posix_trace_event(). In all other
 * cases an event call uses ptrc_event_cold().
 *
 * These are the steps of an event call in one stream, all of them plain loads and stores:
 *
 *   thread->state = frame   From now on no thread unmaps the stream (see retire() in attach.c). A
 *                           signal handler that records an event sees the frame, and calls
 *                           ptrc_event_cold().
 *   want                    Look up in a table whether the stream records this event type.
 *   slot->frame = frame     Mark the slot. A reader that needs all events up to a moment waits for
 *                           calls whose slots are marked.
 *   counter                 Read the event's time (stamp). This comes after the mark, so a reader
 *                           that sees no mark knows that the call's stamp will be later than the
 *                           reader's moment.
 *   control as expected?    Compare the stream's control word after reading the counter. If a
 *                           process changes the word, executes the barrier (marks.h) and then reads
 *                           the counter, this call sees the change, or its stamp is earlier.
 *   record                  Write the record into the chunk.
 *   chunk->pos (release)    From now on the record exists. If the thread dies before this step,
 *                           the stream has nothing of the event.
 *   slot->frame = 0 (release)
 *   waiters?                If the word is not 0, wake the readers. A reader sets the word,
 *                           executes the barrier, looks for events once more, and then sleeps. So
 *                           it finds this event, or this call sees the word.
 *   thread->state as at rest
 */
#ifndef PTRC_LIB_RECORDER_FAST_H
#define PTRC_LIB_RECORDER_FAST_H

#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/base/copy.h"
#include "lib/model/record.h"
#include "lib/recorder/thread.h"
#include "lib/stream/clock.h"
#include "lib/stream/writer.h"

/* The outcome of an attempt to record an event on the fast way. */
enum ptrc_outcome {
	PTRC_DONE,
	PTRC_WAKE,     /* recorded, and a reader must be woken */
	PTRC_LOSE,     /* the stream is full: the loss must be counted */
	PTRC_COLD_WAY, /* nothing was done: ptrc_event_cold() must record it */
};

/* Records an event in the stream of the writer, in the usual case. The caller has set the thread's
 * state to `frame`, so no other thread touches the writer. `want` (enum ptrc_want) is the stream's
 * decision on the event type. */
static PTRC_ALWAYS_INLINE enum ptrc_outcome ptrc_fast_put(struct ptrc_writer *w,
							  struct ptrc_slot *slot, uint8_t want,
							  uint32_t id, const void *data, size_t len,
							  uint64_t addr, uint64_t frame)
{
	uint64_t now, delta, size;
	uint64_t *at;

	if (PTRC_UNLIKELY(want != PTRC_WANT_RECORD)) {
		if (want == PTRC_WANT_UNKNOWN ||
		    ptrc_load_relaxed(&w->header->control) != w->expect)
			return PTRC_COLD_WAY;
		return want == PTRC_WANT_IGNORE ? PTRC_DONE : PTRC_LOSE;
	}
	ptrc_store_relaxed(&slot->frame, frame);
	atomic_signal_fence(memory_order_seq_cst);
	now = ptrc_counter();
	atomic_signal_fence(memory_order_seq_cst);
	size = sizeof(struct ptrc_record) + ptrc_align8(len);
	delta = now - w->base;
	if (PTRC_UNLIKELY(ptrc_load_relaxed(&w->header->control) != w->expect ||
			  delta > w->delta_max || len > w->data_max ||
			  size > (uint64_t)(w->limit - w->at))) {
		ptrc_store_release(&slot->frame, 0);
		return PTRC_COLD_WAY;
	}
	at = (void *)w->at;
	at[0] = delta | (id | len << 16) << 32;
	at[1] = addr; /* bits 48-63, the upper half of the data length, are 0 */
	ptrc_copy(&at[2], data, len);
	w->last = now;
	w->count++;
	w->at = (uint8_t *)at + size;
	ptrc_store_release(&w->chunk->pos, (uintptr_t)w->at + w->pos_bias);
	ptrc_store_release(&slot->frame, 0);
	/* Makes the compiler load w->header again below and not keep it in a register, because
	 * registers are scarce here. */
	atomic_signal_fence(memory_order_seq_cst);
	return PTRC_UNLIKELY(ptrc_load_relaxed(&w->header->waiters)) ? PTRC_WAKE : PTRC_DONE;
}

#endif
