/* SPDX-License-Identifier: MIT */
/* Recording an event: the parts of posix_trace_event() other than the fast way (fast.h). */
#ifndef PTRC_LIB_RECORDER_EVENT_H
#define PTRC_LIB_RECORDER_EVENT_H

#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/process/self.h"
#include "lib/recorder/fast.h"
#include "lib/recorder/frame.h"
#include "lib/recorder/thread.h"

/* An event call gives up after this many attempts on a stream whose state keeps changing. */
#define PTRC_EVENT_TRIES 10000

/* The cold way: records an event in the rare cases. These are the first event of a process, a
 * thread or a stream; a full chunk; a changed state of the stream; an event call in a signal
 * handler that interrupted another event call; and an id that may be unknown. `todo` has a bit for
 * each slot of the page (list of streams) whose stream is to get the event. */
PTRC_COLD void ptrc_event_cold(uint64_t todo, uint32_t id, const void *data, uint64_t len,
			       uint64_t addr, uint64_t frame);
/* Records an event if several streams trace the process, or if the thread's fast way is not
 * prepared for the only stream. `active` has the value of page->active, a word of the process's
 * page (list of streams), in which each bit stands for a stream. */
PTRC_NOINLINE void ptrc_event_each(uint32_t id, const void *data, uint64_t len, uint64_t addr,
				   uint64_t active, uint64_t frame);
/* Finishes an event call whose outcome is PTRC_WAKE (wakes readers) or PTRC_LOSE (counts the loss),
 * and then sets the thread's state to t->rest; from then on the stream may be unmapped. */
PTRC_COLD void ptrc_event_finish(struct ptrc_thread *t, struct ptrc_stream_header *h,
				 enum ptrc_outcome outcome);

/* The address of an event: `addr`, or, if that is 0, the return address of ptrc_event_record()'s
 * caller. A macro, so that the address is computed only where it is needed: an event call in an
 * untraced process must not spend time on saving a register for it. */
#define PTRC_EVENT_ADDRESS(addr) ((addr) ? (addr) : (uint64_t)__builtin_return_address(0))

/* Records an event of this process. Inline, so that posix_trace_event() and the hooks of
 * lib/preload make no further call in the usual case. */
static PTRC_ALWAYS_INLINE void ptrc_event_record(uint32_t id, const void *data, size_t len,
						 uint64_t addr)
{
	uint64_t active = ptrc_load_relaxed(&ptrc_page_self->active);
	uint64_t frame;
	enum ptrc_outcome outcome;
	struct ptrc_writer *w;
	struct ptrc_thread *t;

	if (PTRC_LIKELY(active == 0))
		return;
	t = ptrc_thread_self;
	if (PTRC_UNLIKELY(ptrc_load_relaxed(&t->state) != active || id >= PTRC_WANT_COUNT ||
			  (!data && len != 0))) {
		ptrc_event_each(id, data, len, PTRC_EVENT_ADDRESS(addr), active, ptrc_frame_here());
		return;
	}
	frame = ptrc_frame_here();
	ptrc_store_relaxed(&t->state, frame);
	atomic_signal_fence(memory_order_seq_cst);
	/* The writer is loaded after the mark in t->state is set. So if another thread unmaps the
	 * stream, either that thread sees the mark, or this thread loads a writer that records
	 * nothing (ptrc_thread_use_nowhere()). */
	w = ptrc_load_relaxed(&t->fast);
	outcome = ptrc_fast_put(w, ptrc_load_relaxed(&t->slot), t->want[id], id, data, len,
				PTRC_EVENT_ADDRESS(addr), frame);
	if (PTRC_UNLIKELY(outcome != PTRC_DONE)) {
		if (outcome == PTRC_COLD_WAY)
			ptrc_event_cold(UINT64_MAX, id, data, len, PTRC_EVENT_ADDRESS(addr),
					ptrc_frame_here());
		else
			ptrc_event_finish(t, w->header, outcome);
		return;
	}
	ptrc_store_release(&t->state, t->rest);
}

#endif
