/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/recording.h"

#include <string.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/copy.h"
#include "lib/stream/clock.h"
#include "lib/stream/space.h"
#include "lib/stream/status.h"

/* Recording starts over if the counters of two processors differ, if another thread appends a clock
 * entry, or if another writer takes the chunk. Each of these happens once or twice; after this many
 * times the memory must be damaged. */
#define PUT_TRIES 1000

/* Stores the record; if has_context, stores before it a CONTEXT record, which holds the process and
 * thread. The chunk has room for both. Returns the address after the record. */
static uint8_t *store(struct ptrc_writer *w, const struct ptrc_put *p, uint64_t now,
		      bool has_context)
{
	struct ptrc_record head;
	uint8_t *at = w->at;

	if (has_context) {
		ptrc_record_fill(&head, 0, PTRC_REC_CONTEXT | PTRC_REC_FULLSTAMP, sizeof(w->origin),
				 0);
		memcpy(at, &head, sizeof(head));
		memcpy(at + 16, &now, sizeof(now));
		memcpy(at + 24, &w->origin, sizeof(w->origin));
		at += 24 + sizeof(w->origin);
		w->base = now;
		w->last_origin = w->origin;
	}
	ptrc_record_fill(&head, (uint32_t)(now - w->base), p->id_flags, p->len, p->addr);
	memcpy(at, &head, sizeof(head));
	ptrc_copy(at + 16, p->data, p->len);
	return at + ptrc_record_size(&head);
}

/* Sets w->delta_max, the limit of the fast way (lib/recorder/fast.h). The fast way must not record
 * a stamp that needs the next clock entry, or that is too far from the base to fit in a record. */
static void bound_fast_way(struct ptrc_writer *w)
{
	uint64_t until_due = ptrc_load_acquire(&w->header->clock_due) - 1 - w->base;

	w->delta_max = until_due < w->header->delta_max ? until_due : w->header->delta_max;
	if (w->delta_max > UINT32_MAX)
		w->delta_max = UINT32_MAX;
}

enum ptrc_put_result ptrc_writer_put(struct ptrc_writer *w, const struct ptrc_put *p,
				     uint64_t *stamp)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t size = 16 + ptrc_align8(p->len);

	*stamp = ptrc_stream_now(h);
	if (size > h->record_max || size > w->pool.chunk_size - PTRC_CHUNK_FIRST ||
	    (!p->is_forced && size > h->stream_min_size))
		return PTRC_PUT_TOO_BIG;
	ptrc_writer_look_again(w);
	for (unsigned tries = 0; tries < PUT_TRIES; tries++) {
		uint64_t need, now, control;
		bool has_context;

		now = ptrc_stream_now(h);
		if (now >= ptrc_load_acquire(&h->clock_due)) {
			ptrc_clock_update(h, now);
			now = ptrc_stream_now(h);
		}
		if (w->stamp)
			now = w->stamp;
		has_context = w->chunk && (memcmp(&w->origin, &w->last_origin, sizeof(w->origin)) ||
					   now - w->base > h->delta_max);
		need = size + (has_context ? 24 + sizeof(w->origin) : 0);
		if (!w->chunk || need > (uint64_t)(w->limit - w->at)) {
			if (ptrc_space_make(w, (uint32_t)need, p->is_forced))
				continue;
			/* If the caller stops the stream because it is full, this stamp becomes the
			 * end of the run. It is taken after the search for room, because other
			 * writers may have found room for events during the search. */
			*stamp = ptrc_stream_now(h);
			return PTRC_PUT_FULL;
		}
		/* The same steps as on the fast way: set the mark, read the counter, compare the
		 * control word, store the record, store pos. This first look at the control word
		 * only decides whether a fence is needed. */
		ptrc_store_relaxed(&w->slot->frame, p->frame);
		atomic_signal_fence(memory_order_seq_cst);
		control = ptrc_load_relaxed(&h->control);
		if (control & PTRC_CTL_FENCE) {
			atomic_thread_fence(memory_order_seq_cst);
			ptrc_counter_fence();
		}
		now = w->stamp ? w->stamp : ptrc_stream_now(h);
		atomic_signal_fence(memory_order_seq_cst);
		control = ptrc_load_relaxed(&h->control);
		if (!p->is_forced && control != w->expect) {
			ptrc_store_release(&w->slot->frame, 0);
			*stamp = now;
			return PTRC_PUT_STALE;
		}
		/* The stamp may be a few ticks too old if the chunk was filled on another
		 * processor, and too new if the next clock entry has just become due. */
		if (now < w->last || now >= ptrc_load_acquire(&h->clock_due) ||
		    (!has_context && now - w->base > h->delta_max)) {
			ptrc_store_release(&w->slot->frame, 0);
			continue;
		}
		w->at = store(w, p, now, has_context);
		w->last = now;
		w->count += !(p->id_flags & PTRC_REC_HIDDEN);
		/* The record exists once pos is stored. If the thread dies before that, no
		 * process sees the record. */
		ptrc_store_release(&w->chunk->pos, (uintptr_t)w->at + w->pos_bias);
		ptrc_store_release(&w->slot->frame, 0);
		bound_fast_way(w);
		*stamp = now;
		return PTRC_PUT_DONE;
	}
	ptrc_writer_seal(w);
	return PTRC_PUT_TOO_BIG;
}

/* Stops the run in three steps: first the cut, which decides which events belong to the run; then
 * the control word; then the status. If this thread dies in between, the next process that looks
 * at the stream does the remaining steps (ptrc_stream_complete). */
bool ptrc_writer_stop_full(struct ptrc_stream_header *h, uint64_t expect, uint64_t stamp)
{
	uint64_t run = ptrc_load_acquire(&h->run) & 0xff;
	uint64_t cut = run << PTRC_CUT_RUN_SHIFT | ((stamp - h->t0) & PTRC_CUT_TIME_MASK);
	uint64_t seen = ptrc_load_acquire(&h->cut);

	if (ptrc_load_acquire(&h->control) != expect)
		return false; /* another run has started, or the run was stopped */
	/* If several writers cut the same run, the earliest cut is kept. A cut of a later run is
	 * not changed. */
	while (seen == PTRC_CUT_NONE || (int8_t)(run - (seen >> PTRC_CUT_RUN_SHIFT)) > 0 ||
	       (seen >> PTRC_CUT_RUN_SHIFT == run && seen > cut))
		if (ptrc_cas(&h->cut, &seen, cut))
			break;
	ptrc_cas(&h->control, &expect,
		 ((expect & ~PTRC_CTL_RUN) | PTRC_CTL_LOSING) + PTRC_CTL_SERIAL_ONE);
	ptrc_stream_wake_writers(h);
	ptrc_status_auto_stopped(h, run);
	ptrc_stream_wake_readers(h);
	if (h->policy == POSIX_TRACE_FLUSH)
		ptrc_ring_keeper(h, PTRC_WAKE_LOOK);
	return true;
}

static bool fits_alone(const struct ptrc_writer *w, const struct ptrc_put *p)
{
	return 16 + ptrc_align8(p->len) + 24 + sizeof(struct ptrc_context) <=
	       w->header->stream_min_size;
}

enum ptrc_put_result ptrc_writer_record(struct ptrc_writer *w, uint64_t control, struct ptrc_put *p,
					uint64_t bytes)
{
	struct ptrc_stream_header *h = w->header;
	/* max_data_size is read once, because other processes could change it between two reads. */
	uint64_t stamp, data_max = *(const volatile uint64_t *)&h->max_data_size;
	enum ptrc_put_result result;

	w->expect = control;
	p->id_flags &= PTRC_REC_ID_MASK;
	if (bytes > data_max) {
		p->id_flags |= PTRC_REC_TRUNCATED;
		ptrc_stream_raise(&h->data_needed, bytes);
	}
	p->len = ptrc_record_len_of(bytes < data_max ? bytes : data_max);
	result = ptrc_writer_put(w, p, &stamp);
	if (result == PTRC_PUT_DONE) {
		if (control & PTRC_CTL_FENCE)
			atomic_thread_fence(memory_order_seq_cst);
		if (ptrc_load_relaxed(&h->waiters))
			ptrc_stream_wake_readers(h);
	} else if (result == PTRC_PUT_FULL && p->is_patient && w->is_room_coming &&
		   fits_alone(w, p)) {
		result = PTRC_PUT_WAIT;
	} else if (result != PTRC_PUT_STALE) {
		if (result == PTRC_PUT_FULL && h->policy != POSIX_TRACE_LOOP &&
		    !ptrc_writer_stop_full(h, control, stamp))
			return PTRC_PUT_STALE;
		ptrc_status_count_loss(h);
	}
	return result;
}
