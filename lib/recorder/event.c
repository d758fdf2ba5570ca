/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/recorder/event.h"

#include <string.h>
#include <sys/auxv.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"
#include "lib/process/process.h"
#include "lib/process/process_names.h"
#include "lib/recorder/attach.h"
#include "lib/recorder/frame.h"
#include "lib/stream/full_wait.h"
#include "lib/stream/patterns.h"
#include "lib/stream/recording.h"
#include "lib/stream/slots.h"
#include "lib/stream/status.h"

/* siglongjmp() can leave an event call, whose writer then stays in use. If a thread has more than
 * this number of such writers for one stream, the oldest of them is used again. */
#define LEFT_MAX 32

void ptrc_event_finish(struct ptrc_thread *t, struct ptrc_stream_header *h,
		       enum ptrc_outcome outcome)
{
	if (outcome == PTRC_WAKE)
		ptrc_stream_wake_readers(h);
	else
		ptrc_status_count_loss(h);
	ptrc_store_release(&t->state, t->rest);
}

/* Returns a writer of this thread for the stream of page slot i, which is mapped at h. No event
 * call is using the writer; if all writers are in use, makes another one. NULL: there is no memory
 * or no slot for it, or the stream was detached. */
static struct ptrc_writer *pick_writer(struct ptrc_thread *t, unsigned i,
				       struct ptrc_stream_header *h, uint64_t frame,
				       uint64_t blocked)
{
	struct ptrc_writer *w, *pick = NULL, *oldest = NULL;
	int left_count = 0;
	bool is_nested = false;

	if (t->lists[i] && t->lists[i]->header != h)
		ptrc_thread_forget_list(t, i);
	for (w = t->lists[i]; w; w = w->next) {
		uint64_t mark = ptrc_load_relaxed(&w->slot->frame);

		if (mark != 0 && ptrc_frame_is_dead(mark, frame, blocked)) {
			/* Unless the call at `mark` has certainly ended, its writer is not used
			 * again soon: the program may jump back into the call. */
			if (!ptrc_frame_is_same(mark, frame))
				w->is_left = true;
			ptrc_store_release(&w->slot->frame, 0);
			mark = 0;
		}
		if (mark != 0)
			is_nested = true;
		if (w->is_left) {
			left_count++;
			oldest = w;
		} else if (mark == 0 && !pick) {
			pick = w;
		}
	}
	if (left_count > LEFT_MAX)
		oldest->is_left = false;
	if (!pick) {
		struct ptrc_attachment *a = &ptrc_attachments[i];
		struct ptrc_pool pool = a->pool;
		uint64_t owner;
		uint32_t slot;

		/* Another thread may detach the stream at any moment and attach another one in its
		 * place. The mapping at h stays until this call ends. But the copy of a->pool
		 * belongs to h only if h was still attached after the copying. */
		pool.header = h;
		atomic_thread_fence(memory_order_acquire);
		if (ptrc_load_relaxed(&a->header) != h)
			return NULL;
		pick = ptrc_thread_new_writer(t);
		if (!pick)
			return NULL;
		slot = ptrc_slot_claim(&pool, t->origin.pid, t->origin.tid, ptrc_self->image,
				       &owner);
		if (slot == UINT32_MAX) {
			ptrc_thread_free_writer(t, pick);
			return NULL;
		}
		ptrc_writer_init(pick, &pool, slot);
		pick->slot_owner = owner;
		pick->origin = t->origin;
		pick->next = t->lists[i];
		t->lists[i] = pick;
		if (!ptrc_load_relaxed(&a->is_announced)) {
			ptrc_attach_count(a);
			ptrc_store_relaxed(&a->is_announced, true);
			ptrc_store_relaxed(&ptrc_attach_has_announced, true);
			ptrc_announce(h, t->origin.pid, ptrc_image_of(getauxval(AT_EXECFN)));
		} else if (!pick->next && t->origin.tid != t->origin.pid) {
			/* This is the thread's first writer, so the keeper is to read the thread's
			 * name. (The first thread of a process needs no look: its name is that of
			 * the process.) */
			ptrc_announce_thread(h);
		}
	}
	if (!is_nested)
		t->writers[i] = pick;
	return pick;
}

/* Stores in a->wants[id] what the stream does with events of this type while its control word is
 * `control`: record them, ignore them, or count them as lost. Stores nothing if the word has
 * changed. */
static void note_want(struct ptrc_attachment *a, struct ptrc_stream_header *h, uint64_t control,
		      uint32_t id)
{
	uint64_t now = ptrc_load_acquire(&h->control);
	enum ptrc_verdict verdict = ptrc_filter_verdict(h, id);
	enum ptrc_want want = PTRC_WANT_UNKNOWN;

	if (a->wants_control != now) {
		for (uint32_t n = 0; n < a->wants_end; n++)
			ptrc_store_relaxed(&a->wants[n], PTRC_WANT_UNKNOWN);
		a->wants_end = 0;
		a->wants_control = now;
	}
	if (!(now & (PTRC_CTL_RUN | PTRC_CTL_LOSING | PTRC_CTL_ENDED)) || verdict == PTRC_EXCLUDED)
		want = PTRC_WANT_IGNORE;
	else if (verdict == PTRC_UNJUDGED)
		want = PTRC_WANT_UNKNOWN;
	else if ((now & PTRC_CTL_BITS) == PTRC_CTL_RUN)
		want = PTRC_WANT_RECORD;
	else if ((now & PTRC_CTL_BITS) == PTRC_CTL_LOSING)
		want = PTRC_WANT_LOSE;
	/* A process changes the filter first and then the control word. So if the word is
	 * unchanged, the filter that was read belongs to it. */
	atomic_thread_fence(memory_order_acquire);
	if (now == control && ptrc_load_relaxed(&h->control) == now) {
		ptrc_store_relaxed(&a->wants[id], want);
		if (a->wants_end <= id)
			a->wants_end = id + 1;
	}
}

/* Records the event in the stream that slot i of the page names. If the stream has a full-wait
 * (events wait for space), the thread may sleep here. Signal handlers may then run, and may record
 * events, detach streams, fork, or never return; so everything is read again after the sleep.
 * False: this process is a child that a handler has forked; its parent records the event. */
static bool put_cold(struct ptrc_thread *t, unsigned i, struct ptrc_put *p, uint64_t len,
		     bool is_nested, uint64_t *blocked)
{
	struct ptrc_attachment *a = &ptrc_attachments[i];
	struct ptrc_full_wait wait = {.header = NULL};
	struct ptrc_writer *w = NULL;
	uint32_t id = p->id_flags;

	for (unsigned tries = 0; tries < PTRC_EVENT_TRIES; tries++) {
		struct ptrc_stream_header *h = ptrc_attach(i, is_nested);
		enum ptrc_put_result result;
		enum ptrc_verdict verdict;
		uint64_t control;

		if (!h) {
			ptrc_attach_lost(i);
			break;
		}
		control = ptrc_load_acquire(&h->control);
		if (control & PTRC_CTL_ENDED)
			continue;
		verdict = ptrc_patterns_verdict(h, id, ptrc_process_own_names());
		/* No lock is needed: during an event call no other thread touches this thread's
		 * lists. */
		w = pick_writer(t, i, h, p->frame, *blocked);
		if (w) {
			w->expect = control;
			/* The fast way goes on in the chunk while this word is in force. So a chunk
			 * that was cleared or taken away is given back now, even if this event
			 * needs no room, because it is filtered out or too big. */
			ptrc_writer_look_again(w);
			w->wants = (const uint8_t *)a->wants;
			if (a->wants_control != control ||
			    ptrc_load_relaxed(&a->wants[id]) == PTRC_WANT_UNKNOWN) {
				ptrc_attach_lock();
				note_want(a, h, control, id);
				ptrc_attach_unlock();
			}
		}
		if (!(control & (PTRC_CTL_RUN | PTRC_CTL_LOSING)) || verdict != PTRC_RECORDED)
			break;
		if (!w || !(control & PTRC_CTL_RUN)) {
			ptrc_status_count_loss(h);
			break;
		}
		if (wait.header != h)
			wait = ptrc_full_wait_begin(h, ptrc_load_relaxed(&a->full_wait_ns));
		p->is_patient = !wait.is_over;
		result = ptrc_writer_record(w, control, p, len);
		if (result == PTRC_PUT_WAIT) {
			if (is_nested)
				w->expect = UINT64_MAX;
			w = NULL;
			if (!ptrc_full_wait(&wait, blocked))
				return false;
			tries = 0;
			continue;
		}
		if (result != PTRC_PUT_STALE)
			break;
	}
	/* If this call has interrupted another one, that call may be using the same writer: it has
	 * not marked its slot yet, or has removed its mark already. It has read its table of wanted
	 * events for the control word that it expected. If this nested call left a newer word in
	 * w->expect, the interrupted call would go on with that word and the old table. With
	 * UINT64_MAX it calls ptrc_event_cold() instead. */
	if (is_nested && w)
		w->expect = UINT64_MAX;
	return true;
}

/* Called if there is no memory for this thread's block (struct ptrc_thread). Counts its event as
 * lost in each stream whose bit is set in `active`. Without a block the thread cannot show that it
 * is using the mapping of a stream, so it holds the lock, under which no stream is unmapped. */
static void lose(uint64_t active, uint32_t id)
{
	ptrc_attach_lock();
	for (; active; active &= active - 1) {
		unsigned i = (unsigned)__builtin_ctzll(active);
		struct ptrc_stream_header *h = ptrc_attach_locked(i, true);

		if (!h)
			ptrc_attach_lost(i);
		else if ((ptrc_load_acquire(&h->control) & (PTRC_CTL_RUN | PTRC_CTL_LOSING)) &&
			 !ptrc_stream_is_filtered(h, id))
			ptrc_status_count_loss(h);
	}
	ptrc_attach_unlock();
}

/* Prepares the fast way (fast.h) of the thread for the only stream that traces the process: `all`
 * is the bit of this stream. Returns the thread's state at rest: `all`, or 0 if the thread has no
 * writer for the stream. */
static uint64_t set_up_fast(struct ptrc_thread *t, uint64_t all, uint32_t id)
{
	unsigned i = (unsigned)__builtin_ctzll(all);
	struct ptrc_attachment *a = &ptrc_attachments[i];
	struct ptrc_writer *w = t->writers[i];

	if (!w)
		return 0;
	if (w != ptrc_load_relaxed(&t->fast) || t->want_control != w->expect) {
		memset(t->want, PTRC_WANT_UNKNOWN, t->want_end);
		t->want_end = 0;
		t->want_control = w->expect;
		ptrc_store_relaxed(&t->fast, w);
		ptrc_store_relaxed(&t->slot, w->slot);
	}
	if (a->wants_control == w->expect) {
		t->want[id] = ptrc_load_relaxed(&a->wants[id]);
		if (t->want_end <= id)
			t->want_end = id + 1;
	}
	return all;
}

void ptrc_event_cold(uint64_t todo, uint32_t id, const void *data, uint64_t len, uint64_t addr,
		     uint64_t frame)
{
	struct ptrc_put p = {.data = data, .addr = addr, .frame = frame};
	bool is_first = ptrc_self->pid == 0;
	struct ptrc_thread *t;
	uint64_t mask, all, active, outer, rest;

	ptrc_sys_block_signals(&mask);
	if (!is_first && ptrc_self->pid != ptrc_sys_getpid())
		goto out; /* a vfork() child, which runs on its parent's memory, records nothing */
	is_first = is_first || ptrc_page_was_called(ptrc_page_self);
	if (is_first) {
		if (ptrc_process_init() != 0)
			goto out;
	}
	/* If the thread has no block yet, the caller may have got `todo` from the bell (a counter)
	 * of a process without a page (lib/process/self.h). The bits of a bell do not stand for
	 * slots, nor does the bit of a call, so all streams get the event. */
	if (is_first || ptrc_thread_self == &ptrc_thread_nobody)
		todo = UINT64_MAX;
	ptrc_attach_own();
	all = ptrc_load_acquire(&ptrc_page_self->active);
	/* Drops events of system event types, which only the trace system records, and events with
	 * unknown ids. */
	if (all == 0 || id - PTRC_ID_UNNAMED > PTRC_NAMES_MAX || !ptrc_process_maps_id(id))
		goto out;
	t = ptrc_thread_get();
	if (!t) {
		lose(all & todo, id);
		goto out;
	}
	outer = ptrc_thread_frame(t);
	if (outer != 0 && ptrc_frame_is_dead(outer, frame, mask))
		outer = 0;
	ptrc_store_relaxed(&t->state, frame);
	for (active = all & todo; active; active &= active - 1) {
		p.id_flags = id;
		if (!put_cold(t, (unsigned)__builtin_ctzll(active), &p, len, outer != 0, &mask)) {
			ptrc_store_release(&t->state, outer);
			goto out;
		}
	}
	/* If this call interrupted another one, that call continues now, so the state must say that
	 * it is at work. */
	rest = outer;
	if (outer == 0) {
		rest = (all & (all - 1)) == 0 ? set_up_fast(t, all, id) : 0;
		t->rest = rest;
	}
	ptrc_store_release(&t->state, rest);
out:
	ptrc_sys_restore_signals(&mask);
}

PTRC_NO_STACK_PROTECTOR void ptrc_event_each(uint32_t id, const void *data, uint64_t len,
					     uint64_t addr, uint64_t active, uint64_t frame)
{
	struct ptrc_thread *t = ptrc_thread_self;

	if (!data)
		len = 0;
	if (id >= PTRC_WANT_COUNT)
		return;
	/* In a forked child that still has its parent's mappings, ptrc_attach_owner is the parent's
	 * pid. */
	if (t == &ptrc_thread_nobody || ptrc_thread_frame(t) != 0 ||
	    ptrc_attach_owner != ptrc_self->pid) {
		ptrc_event_cold(active, id, data, len, addr, frame);
		return;
	}
	ptrc_store_relaxed(&t->state, frame);
	atomic_signal_fence(memory_order_seq_cst);
	for (; active; active &= active - 1) {
		unsigned i = (unsigned)__builtin_ctzll(active);
		struct ptrc_stream_header *h = ptrc_load_relaxed(&ptrc_attachments[i].header);
		struct ptrc_writer *w = t->writers[i];
		enum ptrc_outcome outcome = PTRC_COLD_WAY;

		if (h && w && w->header == h)
			outcome =
				ptrc_fast_put(w, w->slot, w->wants[id], id, data, len, addr, frame);
		if (outcome == PTRC_COLD_WAY)
			break;
		if (outcome == PTRC_WAKE)
			ptrc_stream_wake_readers(h);
		if (outcome == PTRC_LOSE)
			ptrc_status_count_loss(h);
	}
	atomic_signal_fence(memory_order_seq_cst);
	ptrc_store_release(&t->state, t->rest);
	if (active)
		ptrc_event_cold(active, id, data, len, addr, frame);
}
