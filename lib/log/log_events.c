/* SPDX-License-Identifier: MIT */
#include "lib/log/log_write.h"

#include <errno.h>
#include <string.h>
#include <trace.h>

#include "lib/base/sys.h"
#include "lib/stream/filter.h"
#include "lib/model/sequencer.h"

/* A log that is bounded to less than 16 times this gets packets that are exact to the event. */
#define EXACT_BELOW UINT64_C(65536)

/* The counted bytes of a packet. */
static uint64_t target_of(const struct ptrc_log_writer *w)
{
	return w->limit / 16 < PTRC_LOG_PACKET_BYTES ? w->limit / 16 : PTRC_LOG_PACKET_BYTES;
}

/* Keeps w->state.filter up to date with what is chosen. */
static void follow_filter(struct ptrc_log_writer *w)
{
	const struct ptrc_log_piece *piece;
	struct ptrc_packed_event e;

	for (uint64_t i = 0; (piece = ptrc_log_batch_chosen(&w->batch, i)); i++) {
		if (piece->s.kind == PTRC_STRETCH_GAP)
			w->state.flags |= PTRC_LOG_STATE_FILTER_UNKNOWN;
		if (piece->s.kind == PTRC_STRETCH_FILTER &&
		    ptrc_log_batch_first(&w->batch, piece, &e) &&
		    ptrc_sequencer_learn(e.id_flags & PTRC_REC_ID_MASK, e.data, e.len,
					 w->state.filter)) {
			w->state.flags &= ~PTRC_LOG_STATE_FILTER_UNKNOWN;
			ptrc_log_index_note_filter(w);
		}
	}
}

/* Keeps the state up to date with what is chosen, which goes into the log. */
static void follow(struct ptrc_log_writer *w)
{
	const struct ptrc_log_piece *piece, *last = NULL;

	follow_filter(w);
	for (uint64_t i = 0; (piece = ptrc_log_batch_chosen(&w->batch, i)); i++)
		if (ptrc_log_piece_is_last(piece, last))
			last = piece;
	if (last && last->s.kind == PTRC_STRETCH_STOP)
		w->state.flags |= PTRC_LOG_STATE_AFTER_STOP;
	else if (last)
		w->state.flags &= ~PTRC_LOG_STATE_AFTER_STOP;
}

/* Adds what comes before the sections of a packet, but for its sums. Any packet may be the first
 * that a reader opens: so each begins with the filter that is in force before its first event. */
static void put_filter(struct ptrc_log_writer *w, struct ptrc_log_packet *p)
{
	static const struct ptrc_log_ring none;
	const uint64_t *filter = w->state.filter;
	uint32_t words = PTRC_SET_WORD_COUNT;

	if (w->kind == PTRC_LOG_RING) {
		p->flags = PTRC_LOG_HAS_RING;
		ptrc_log_buffer_add(&w->out, &none, sizeof(none));
	}
	while (words && filter[words - 1] == 0)
		words--;
	if (w->state.flags & PTRC_LOG_STATE_FILTER_UNKNOWN) {
		p->flags |= PTRC_LOG_FILTER_UNKNOWN;
	} else if (words) {
		p->flags |= (uint16_t)(PTRC_LOG_HAS_FILTER |
				       (words - 1) << PTRC_LOG_FILTER_WORDS_SHIFT);
		ptrc_log_buffer_add(&w->out, filter, words * sizeof(*filter));
	}
}

/* Finds a place in the ring for the packet in w->out, and fills in the packet's struct
 * ptrc_log_ring, which tells what is lost by that. */
static int place_in_ring(struct ptrc_log_writer *w, const struct ptrc_log_packet *p,
			 uint64_t *place)
{
	int error = 0;

	if (w->state.offset + ptrc_align8(w->out.used) > w->ring_size &&
	    !(w->state.flags & PTRC_LOG_STATE_WRAPPED))
		error = ptrc_log_names_before_wrap(w);
	if (error)
		return error;
	*place = ptrc_log_ring_place(w, ptrc_align8(w->out.used), p->counted);
	memcpy(w->out.bytes + sizeof(*p) + p->sums_bytes, &w->state.ring, sizeof(w->state.ring));
	return 0;
}

/* Ends the EVENTS packet in w->out and writes it. */
static int write_packet(struct ptrc_log_writer *w, const struct ptrc_log_packet *p)
{
	bool is_ring = w->kind == PTRC_LOG_RING;
	uint64_t place = 0;
	int error = w->out.is_short ? ENOMEM : is_ring ? place_in_ring(w, p, &place) : 0;

	if (!error)
		error = ptrc_log_packet_end(w, 0, *p);
	if (!error)
		error = is_ring ? ptrc_log_ring_write(w, place) : ptrc_log_append(w);
	if (error)
		return error;
	ptrc_log_index_note(w);
	w->state.seq++;
	w->state.events += p->event_count;
	w->state.bytes += p->counted;
	w->last_ns = p->last_ns;
	return 0;
}

int ptrc_log_events_write_single(struct ptrc_log_writer *w, int64_t ns, uint32_t order,
				 uint32_t id_flags, const void *data, uint32_t len)
{
	struct ptrc_log_section section = {.base_ns = ns, .order = order};
	struct ptrc_type_sum sum = {.id = id_flags & PTRC_REC_ID_MASK, .events = 1, .bytes = len};
	struct ptrc_log_packet p = {.type = PTRC_LOG_EVENTS,
				    .first_ns = ns,
				    .last_ns = ns,
				    .counted = ptrc_packed_counted(len)};
	uint64_t at;

	ptrc_log_packet_begin(w);
	if (!(id_flags & PTRC_REC_HIDDEN)) {
		p.event_count = 1;
		p.sums_bytes = sizeof(sum);
		ptrc_log_buffer_add(&w->out, &sum, sizeof(sum));
	}
	put_filter(w, &p);
	at = w->out.used;
	if (ptrc_log_buffer_reserve(&w->out, sizeof(section) + PTRC_PACKED_HEAD_MAX + len))
		return ENOMEM;
	section.bytes =
		ptrc_packed_single(w->out.bytes + at + sizeof(section), id_flags, data, len);
	memcpy(w->out.bytes + at, &section, sizeof(section));
	w->out.used += sizeof(section) + section.bytes;
	return write_packet(w, &p);
}

/* Writes what is chosen. */
static int write_slice(struct ptrc_log_writer *w, const struct ptrc_log_slice *slice)
{
	struct ptrc_log_packet p = {.type = PTRC_LOG_EVENTS,
				    .counted = slice->counted,
				    .first_ns = slice->first_ns,
				    .last_ns = slice->last_ns,
				    .event_count = (uint32_t)slice->events};
	int error;

	ptrc_log_packet_begin(w);
	error = ptrc_log_batch_put_sums(&w->batch, &w->out);
	if (error)
		return error;
	p.sums_bytes = (uint32_t)(w->out.used - sizeof(struct ptrc_log_packet));
	put_filter(w, &p);
	ptrc_log_batch_put_sections(&w->batch, &w->out);
	follow(w);
	return write_packet(w, &p);
}

/* Ends a log that is full, with a STOP at this time. */
static int write_stop(struct ptrc_log_writer *w, int64_t ns)
{
	static const int reason = 2;

	w->state.flags |= PTRC_LOG_STATE_FULL;
	if ((w->state.flags & PTRC_LOG_STATE_AFTER_STOP) ||
	    ptrc_stream_is_filtered(w->header, POSIX_TRACE_STOP))
		return 0;
	w->state.flags |= PTRC_LOG_STATE_AFTER_STOP;
	return ptrc_log_events_write_single(w, ns, UINT32_MAX, POSIX_TRACE_STOP, &reason,
					    sizeof(reason));
}

/* The log does not get these events. */
static void note_lost(struct ptrc_log_writer *w, uint64_t events)
{
	if (events == 0)
		return;
	w->state.lost_events += events;
	ptrc_log_note_loss(w);
}

/* Chooses about so many counted bytes of the earliest events, never more unless it is one event. */
static int choose_at_most(struct ptrc_log_writer *w, uint64_t counted, struct ptrc_log_slice *slice)
{
	struct ptrc_log_end end = {.target = counted, .room = UINT64_MAX};

	if (counted > 4 * EXACT_BELOW) {
		int error = ptrc_log_batch_choose(&w->batch, counted / 2, slice);

		if (error || slice->counted <= counted)
			return error;
	}
	return ptrc_log_batch_choose_exactly(&w->batch, &end, slice);
}

/* Leaves out the oldest events of a flush that has more of them than the ring can hold. */
static int discard_oldest(struct ptrc_log_writer *w)
{
	int64_t first_ns = 0, last_ns = INT64_MIN;
	uint64_t events = 0;

	if (w->batch.counted <= w->limit)
		return 0;
	while (w->batch.counted > w->limit) {
		struct ptrc_log_slice slice;
		int error = choose_at_most(w, w->batch.counted - w->limit, &slice);

		if (error)
			return error;
		if (last_ns == INT64_MIN)
			first_ns = slice.first_ns;
		if (last_ns < slice.last_ns)
			last_ns = slice.last_ns;
		events += slice.events;
		follow(w);
	}
	ptrc_log_ring_drop_all(w); /* its events are even older */
	ptrc_log_ring_note_lost(w, events, first_ns, last_ns);
	return 0;
}

/* Chooses the events of the next packet. *is_full: an UNTIL_FULL log has no room for the event
 * behind them, whose time is *stop_ns. */
static int choose(struct ptrc_log_writer *w, struct ptrc_log_slice *slice, bool *is_full,
		  int64_t *stop_ns)
{
	uint64_t target = target_of(w), room = UINT64_MAX;
	struct ptrc_log_end end = {.target = target};
	int error;

	if (w->policy == POSIX_TRACE_UNTIL_FULL) {
		room = w->limit > w->state.bytes ? w->limit - w->state.bytes : 0;
		/* Only a STOP may use the room that is kept for the last STOP. */
		end.reserve = PTRC_LOG_STOP_BYTES;
	}
	if (target >= EXACT_BELOW && room >= w->batch.counted + end.reserve)
		return ptrc_log_batch_choose(&w->batch, target, slice);
	end.room = room;
	error = ptrc_log_batch_choose_exactly(&w->batch, &end, slice);
	*is_full = end.is_full;
	*stop_ns = end.next_ns;
	return error;
}

/* Takes events out of the batch that are too large for the log, and those that a pipe has from a
 * flush that failed. */
static int sort_batch(struct ptrc_log_writer *w)
{
	struct ptrc_log_slice slice;
	uint64_t lost = 0;
	int error = ptrc_log_batch_sort(&w->batch);

	if (!error)
		error = ptrc_log_batch_strip(&w->batch, &lost);
	if (error)
		return error;
	note_lost(w, lost);
	follow_filter(w);
	if (w->skip_ns == INT64_MIN)
		return 0;
	error = ptrc_log_batch_choose_until(&w->batch, w->skip_ns, &slice);
	if (!error)
		follow(w);
	return error;
}

/* The log gets nothing of what waits. */
static int discard_rest(struct ptrc_log_writer *w)
{
	const struct ptrc_log_piece *piece;
	struct ptrc_log_slice slice;
	int error = ptrc_log_batch_choose_until(&w->batch, INT64_MAX, &slice);

	for (uint64_t i = 0; !error && (piece = ptrc_log_batch_chosen(&w->batch, i)); i++)
		if (piece->s.kind != PTRC_STRETCH_MARKER)
			note_lost(w, piece->s.event_count);
	return error;
}

static int write_batch(struct ptrc_log_writer *w)
{
	bool is_full = ptrc_log_is_full(w);
	int error = sort_batch(w);

	if (!error && w->kind == PTRC_LOG_RING)
		error = discard_oldest(w);
	while (!error && !is_full && ptrc_log_batch_waits(&w->batch)) {
		struct ptrc_log_slice slice;
		int64_t stop_ns = 0;

		error = choose(w, &slice, &is_full, &stop_ns);
		if (!error && slice.records)
			error = write_slice(w, &slice);
		if (!error && is_full)
			error = write_stop(w, stop_ns);
	}
	if (!error && ptrc_log_batch_waits(&w->batch))
		error = discard_rest(w);
	return error;
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
		ptrc_log_index_forget(w, w->retry.offset);
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
	w->state.layouts = now.layouts;
	w->state.tail = now.tail;
	w->state.ring = now.ring;
	w->state.ring.oldest_seq = ptrc_log_at_most(now.ring.oldest_seq, w->retry.seq);
}

void ptrc_log_events_begin(struct ptrc_log_writer *w)
{
	ptrc_log_batch_clear(&w->batch);
	w->added_events = w->unwritten_events = 0;
	w->retry.written.until = 0;
	if (w->has_retry)
		undo(w);
	w->has_retry = false;
}

int ptrc_log_events_add(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch)
{
	if (stretch->kind == PTRC_STRETCH_PROCESS) {
		ptrc_log_origin_observed(w, stretch);
		return 0;
	}
	if (stretch->kind != PTRC_STRETCH_MARKER)
		w->added_events += stretch->event_count;
	return ptrc_log_batch_add(&w->batch, stretch);
}

/* How many events the log has got, or has noted as lost. */
static uint64_t taken_events(const struct ptrc_log_state *s)
{
	return s->events + s->ring.lost_events + s->lost_events;
}

/* For an UNTIL_FULL log, which ends with its last STOP: adds to the flush the markers that
 * earlier flushes held back, and holds back those that now follow the last STOP. */
static int add_held(struct ptrc_log_writer *w)
{
	int error = ptrc_log_batch_add_held(&w->batch, &w->held);

	w->held_next.used = 0;
	if (!error)
		error = ptrc_log_batch_hold(&w->batch, w->state.flags & PTRC_LOG_STATE_AFTER_STOP,
					    &w->held_next);
	return error;
}

int ptrc_log_events_end(struct ptrc_log_writer *w)
{
	struct ptrc_log_state before;
	uint64_t until;
	int error = 0;

	/* The state that this saves says nothing of the flush: its events are not written yet. */
	until = w->state.written.until;
	w->state.written.until = 0;
	ptrc_log_index_write(w);
	w->state.written.until = until;
	ptrc_log_origin_write(w);
	before = w->state;
	w->last_ns = INT64_MIN;
	if (w->policy == POSIX_TRACE_UNTIL_FULL)
		error = add_held(w);
	if (!error)
		error = write_batch(w);
	if (!error && w->syncs_flushes)
		error = ptrc_log_sync(w);
	ptrc_log_batch_clear(&w->batch);
	if (error) {
		uint64_t taken = taken_events(&w->state) - taken_events(&before);

		w->unwritten_events = w->added_events > taken ? w->added_events - taken : 0;
		w->retry = before;
		w->has_retry = true;
		if (!w->is_regular && w->last_ns > w->skip_ns)
			w->skip_ns = w->last_ns;
		/* What a pipe has taken is never taken back, and no flush may follow that saves it. */
		if (!w->is_regular)
			ptrc_log_state_tell(w);
		return error;
	}
	w->skip_ns = INT64_MIN;
	ptrc_log_index_keep(w);
	if (w->policy == POSIX_TRACE_UNTIL_FULL) {
		struct ptrc_log_buffer old = w->held;

		w->held = w->held_next;
		w->held_next = old;
	}
	ptrc_log_state_save(w);
	return 0;
}
