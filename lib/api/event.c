/* SPDX-License-Identifier: MIT */
/* POSIX.1 posix_trace_event. */
#include "config.h"

#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/life/life.h"
#include "lib/process/self.h"
#include "lib/recorder/event.h"
#include "lib/recorder/fast.h"
#include "lib/recorder/frame.h"
#include "lib/recorder/thread.h"

PTRC_PUBLIC PTRC_NO_STACK_PROTECTOR void posix_trace_event(trace_event_id_t id,
							   const void *restrict data, size_t len)
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
		ptrc_event_each(id, data, len, (uint64_t)__builtin_return_address(0), active,
				ptrc_frame_here());
		return;
	}
	frame = ptrc_frame_here();
	ptrc_store_relaxed(&t->state, frame);
	atomic_signal_fence(memory_order_seq_cst);
	/* This is loaded after the mark, because of a stream that is being unmapped: either the
	 * thread that does so sees the mark, or we see the writer that stands for no stream. */
	w = ptrc_load_relaxed(&t->fast);
	outcome = ptrc_fast_put(w, ptrc_load_relaxed(&t->slot), t->want[id], id, data, len,
				(uint64_t)__builtin_return_address(0), frame);
	if (PTRC_UNLIKELY(outcome != PTRC_DONE)) {
		if (outcome == PTRC_COLD_WAY)
			ptrc_event_cold(UINT64_MAX, id, data, len,
					(uint64_t)__builtin_return_address(0), ptrc_frame_here());
		else
			ptrc_event_finish(t, w->header, outcome);
		return;
	}
	ptrc_store_release(&t->state, t->rest);
}
