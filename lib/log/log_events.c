/* SPDX-License-Identifier: MIT */
#include "lib/log/log_events.h"

#include <errno.h>
#include <string.h>
#include <trace.h>

#include "lib/base/sys.h"
#include "lib/log/log_names.h"
#include "lib/log/log_ring.h"
#include "lib/stream/filter.h"
#include "lib/model/sequencer.h"

/* Bytes of events in a packet, at most; in a small ring a sixteenth of its limit. A ring gives
 * up a whole packet at a time, and damage takes away a whole packet. Larger packets would gain
 * nothing in speed. */
#define SLICE_MAX UINT64_C(65536)

/* Keeps w->state.filter up to date. */
static void follow(struct ptrc_log_writer *w, const struct ptrc_log_item *item)
{
	const uint8_t *data = (const uint8_t *)item->record + ptrc_record_head(item->record);

	if (ptrc_sequencer_learn(item->id, data, ptrc_record_len(item->record), w->state.filter))
		w->state.flags &= ~PTRC_LOG_STATE_FILTER_UNKNOWN;
}

/* Takes the earliest event of the batch, which goes into the packet. */
static void take(struct ptrc_log_writer *w, const struct ptrc_log_item *item)
{
	follow(w, item);
	if (!ptrc_log_is_marker(item->id)) {
		if (item->id == POSIX_TRACE_STOP)
			w->state.flags |= PTRC_LOG_STATE_AFTER_STOP;
		else
			w->state.flags &= ~PTRC_LOG_STATE_AFTER_STOP;
	}
	ptrc_log_batch_take(&w->batch);
}

/* Takes the earliest event of the batch, which the log does not get. */
static void discard(struct ptrc_log_writer *w, const struct ptrc_log_item *item)
{
	if (!item->is_hidden && !ptrc_log_is_marker(item->id)) {
		w->state.lost_events++;
		ptrc_log_note_loss(w);
	}
	follow(w, item);
	ptrc_log_batch_take(&w->batch);
}

/* Adds the STOP of a log that is full to the packet in w->out. */
static void add_stop(struct ptrc_log_writer *w, int64_t ns)
{
	static const int reason = 2;
	struct ptrc_log_section section = {
		.base_ns = ns, .bytes = PTRC_LOG_STOP_BYTES, .order = UINT32_MAX};
	struct ptrc_record r;
	uint8_t record[PTRC_LOG_STOP_BYTES] = {0};

	ptrc_record_fill(&r, 0, POSIX_TRACE_STOP, sizeof(reason), 0);
	memcpy(record, &r, sizeof(r));
	memcpy(record + sizeof(r), &reason, sizeof(reason));
	ptrc_log_buffer_add(&w->out, &section, sizeof(section));
	ptrc_log_buffer_add(&w->out, record, sizeof(record));
}

/* Begins the packet of a slice. Any packet of a ring may some day be the oldest that is left:
 * so each begins with the filter that is in force before its first event. */
static void slice_begin(struct ptrc_log_writer *w, struct ptrc_log_facts *p)
{
	static const struct ptrc_log_ring none;
	const uint64_t *filter = w->state.filter;
	uint32_t words = PTRC_SET_WORD_COUNT;

	while (words && filter[words - 1] == 0)
		words--;
	*p = (struct ptrc_log_facts){.type = PTRC_LOG_EVENTS};
	ptrc_log_packet_begin(w);
	if (w->kind != PTRC_LOG_RING)
		return;
	p->flags = PTRC_LOG_HAS_RING;
	ptrc_log_buffer_add(&w->out, &none, sizeof(none));
	if (w->state.flags & PTRC_LOG_STATE_FILTER_UNKNOWN) {
		p->flags |= PTRC_LOG_FILTER_UNKNOWN;
	} else if (words) {
		p->flags |= PTRC_LOG_HAS_FILTER | (words - 1) << PTRC_LOG_FILTER_WORDS_SHIFT;
		ptrc_log_buffer_add(&w->out, filter, words * sizeof(*filter));
	}
}

/* Finds a place in the ring for the packet in w->out, and fills in the packet's struct
 * ptrc_log_ring, which tells what is lost by that. */
static int place_in_ring(struct ptrc_log_writer *w, const struct ptrc_log_facts *p, uint64_t *place)
{
	struct ptrc_log_ring info;
	int error = 0;

	if (w->state.offset + w->out.used > w->ring_size &&
	    !(w->state.flags & PTRC_LOG_STATE_WRAPPED))
		error = ptrc_log_names_before_wrap(w);
	if (error)
		return error;
	*place = ptrc_log_ring_place(w, w->out.used, p->bytes);
	info = (struct ptrc_log_ring){.oldest_seq = w->state.oldest_seq,
				      .lost_first_ns = w->state.lost_first_ns,
				      .lost_last_ns = w->state.lost_last_ns,
				      .lost_events = w->state.overwritten_events};
	memcpy(w->out.bytes + sizeof(struct ptrc_log_packet), &info, sizeof(info));
	return 0;
}

int ptrc_log_events_write(struct ptrc_log_writer *w, const struct ptrc_log_facts *p)
{
	bool is_ring = w->kind == PTRC_LOG_RING;
	uint64_t place = 0;
	int error = w->out.is_short ? ENOMEM : is_ring ? place_in_ring(w, p, &place) : 0;

	if (!error)
		error = ptrc_log_packet_end(w, 0, p);
	if (!error)
		error = is_ring ? ptrc_log_ring_write(w, place, p) : ptrc_log_append(w);
	if (error)
		return error;
	w->state.seq++;
	w->state.events += p->events;
	w->state.bytes += p->bytes;
	return 0;
}

/* Takes the events of the next slice from the batch. *is_full: an UNTIL_FULL log has no room
 * for the next event, whose time is *stop_ns. */
static void slice_fill(struct ptrc_log_writer *w, struct ptrc_log_facts *p, int64_t *stop_ns,
		       bool *is_full)
{
	struct ptrc_log_item item;
	uint64_t target = w->limit / 16 < SLICE_MAX ? w->limit / 16 : SLICE_MAX;

	ptrc_log_batch_mark(&w->batch);
	while (ptrc_log_batch_peek(&w->batch, &item)) {
		if (item.size > w->batch.most) {
			if (p->bytes)
				return;
			discard(w, &item);
			ptrc_log_batch_mark(&w->batch);
			continue;
		}
		/* skip_ns comes from a flush that failed. Only the earliest events of a batch
		 * can be that old, so nothing is left out of the middle of the slice. */
		if (item.ns <= w->skip_ns) {
			ptrc_log_batch_take(&w->batch);
			ptrc_log_batch_mark(&w->batch);
			continue;
		}
		if (p->bytes && p->bytes + item.size > target)
			return;
		if (w->policy == POSIX_TRACE_UNTIL_FULL) {
			/* Only a STOP may use the room that is kept for the last STOP. */
			uint64_t need =
				item.size + (item.id == POSIX_TRACE_STOP ? 0 : PTRC_LOG_STOP_BYTES);

			if (need > w->limit - w->state.bytes - p->bytes) {
				*stop_ns = item.ns;
				*is_full = true;
				return;
			}
		}
		if (p->bytes == 0)
			p->first_ns = item.ns;
		p->last_ns = item.ns;
		p->bytes += item.size;
		p->events += !item.is_hidden;
		take(w, &item);
	}
}

/* Leaves out the oldest events of a flush that has more of them than the ring can hold. */
static void discard_oldest(struct ptrc_log_writer *w)
{
	struct ptrc_log_item item;
	int64_t first_ns = 0, last_ns = 0;
	uint64_t events = 0;
	bool has_any = false;

	while (w->batch.bytes - w->batch.too_big > w->limit &&
	       ptrc_log_batch_peek(&w->batch, &item)) {
		if (item.size > w->batch.most) {
			discard(w, &item);
			continue;
		}
		if (!has_any)
			first_ns = item.ns;
		last_ns = item.ns;
		has_any = true;
		events += !item.is_hidden;
		take(w, &item);
	}
	if (!has_any)
		return;
	ptrc_log_ring_drop_all(w); /* its events are even older */
	ptrc_log_ring_note_lost(w, events, first_ns, last_ns);
}

static int write_batch(struct ptrc_log_writer *w)
{
	bool is_full = ptrc_log_is_full(w);
	struct ptrc_log_item item;
	int error = ptrc_log_batch_sort(&w->batch);

	if (error)
		return error;
	if (w->kind == PTRC_LOG_RING)
		discard_oldest(w);
	while (!is_full && w->batch.heap.used) {
		struct ptrc_log_facts p;
		int64_t stop_ns = 0;

		slice_begin(w, &p);
		slice_fill(w, &p, &stop_ns, &is_full);
		if (p.bytes)
			ptrc_log_batch_slice(&w->batch, &w->out);
		if (is_full) {
			w->state.flags |= PTRC_LOG_STATE_FULL;
			if (!(w->state.flags & PTRC_LOG_STATE_AFTER_STOP) &&
			    !ptrc_stream_is_filtered(w->header, POSIX_TRACE_STOP)) {
				add_stop(w, stop_ns);
				if (p.bytes == 0)
					p.first_ns = stop_ns;
				p.last_ns = stop_ns;
				p.bytes += PTRC_LOG_STOP_BYTES;
				p.events++;
				w->state.flags |= PTRC_LOG_STATE_AFTER_STOP;
			}
		}
		if (p.bytes == 0)
			continue;
		error = ptrc_log_events_write(w, &p);
		if (error)
			return error;
		w->last_ns = p.last_ns;
	}
	while (ptrc_log_batch_peek(&w->batch, &item))
		discard(w, &item);
	return 0;
}

/* The last flush failed midway, and its events come again. Takes back the packets that it has
 * written, and restores the state. */
static void undo(struct ptrc_log_writer *w)
{
	struct ptrc_log_state now = w->state;

	if (!w->is_regular)
		return; /* a pipe keeps what it has; skip_ns skips those events */
	if (w->kind == PTRC_LOG_SEQUENTIAL) {
		ptrc_sys(SYS_ftruncate, w->fd, w->retry.offset);
		w->state = w->retry;
		w->state.flags |= now.flags & PTRC_LOG_STATE_CUT;
		w->file_end = w->retry.offset;
		w->has_last = false;
		return;
	}
	ptrc_log_ring_undo(w, w->retry.seq);
	w->retry.events = w->state.events;
	w->retry.bytes = w->state.bytes;
	w->state = w->retry;
	w->state.flags |= now.flags & (PTRC_LOG_STATE_WRAPPED | PTRC_LOG_STATE_CUT);
	w->state.names = now.names;
	w->state.tail = now.tail;
	w->state.oldest_seq = now.oldest_seq < w->retry.seq ? now.oldest_seq : w->retry.seq;
	w->state.overwritten_events = now.overwritten_events;
	w->state.lost_first_ns = now.lost_first_ns;
	w->state.lost_last_ns = now.lost_last_ns;
}

void ptrc_log_events_begin(struct ptrc_log_writer *w)
{
	ptrc_log_batch_clear(&w->batch);
	w->retry.written_until = 0;
	if (w->has_retry)
		undo(w);
	w->has_retry = false;
}

int ptrc_log_events_add(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch)
{
	return ptrc_log_batch_add(&w->batch, stretch);
}

/* For an UNTIL_FULL log, which ends with its last STOP: adds to the flush the markers that
 * earlier flushes held back, and holds back those that now follow the last STOP. */
static int add_held(struct ptrc_log_writer *w)
{
	struct ptrc_stretch stretch = {
		.records = w->held.bytes, .bytes = (uint32_t)w->held.used, .order = 1};
	int error = w->held.used ? ptrc_log_batch_add(&w->batch, &stretch) : 0;

	w->held_next.used = 0;
	if (!error)
		error = ptrc_log_batch_hold(&w->batch, w->state.flags & PTRC_LOG_STATE_AFTER_STOP,
					    &w->held_next);
	return error;
}

int ptrc_log_events_end(struct ptrc_log_writer *w)
{
	struct ptrc_log_state before = w->state;
	int error = 0;

	w->last_ns = INT64_MIN;
	if (w->policy == POSIX_TRACE_UNTIL_FULL)
		error = add_held(w);
	if (!error)
		error = write_batch(w);
	if (!error && w->syncs_flushes)
		error = ptrc_log_sync(w);
	ptrc_log_batch_clear(&w->batch);
	if (error) {
		w->retry = before;
		w->has_retry = true;
		if (!w->is_regular && w->last_ns > w->skip_ns)
			w->skip_ns = w->last_ns;
		return error;
	}
	w->skip_ns = INT64_MIN;
	if (w->policy == POSIX_TRACE_UNTIL_FULL) {
		struct ptrc_log_buffer old = w->held;

		w->held = w->held_next;
		w->held_next = old;
	}
	ptrc_log_state_save(w);
	return 0;
}
