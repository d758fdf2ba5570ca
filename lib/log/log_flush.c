/* SPDX-License-Identifier: MIT */
#include "lib/log/log_flush.h"

#include <errno.h>
#include <stddef.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/log/log_events.h"
#include "lib/log/log_names.h"
#include "lib/stream/clock.h"
#include "lib/stream/drain.h"
#include "lib/stream/room.h"

/*
 * A flush first packs every stretch that the drain gives it, as the log gets the events in
 * time order over all of them. When they are written it commits each stretch, by a note made
 * when it was packed: exactly what was packed is taken out of the stream. Events that a slow
 * writer has added to the stretch since then stay for the next flush.
 */

#define TEE_WAIT_NS 500000
#define TEE_WAIT_COUNT 200

/* The drain's next stretch, packed into the memory of the batch. ENODATA: there is none. ENOMEM. */
static int next_stretch(struct ptrc_log_writer *w, struct ptrc_drain *d,
			struct ptrc_stretch *stretch)
{
	uint8_t *out;
	int error = ptrc_log_batch_room(&w->batch, ptrc_drain_room(d), &out);

	return error ? error : ptrc_drain_next(d, out, stretch);
}

/* Adds to the list the note of the drain's current stretch, and behind it the stretch's sums of
 * events per type. */
static int add_note(struct ptrc_log_buffer *list, const struct ptrc_drain *d,
		    const struct ptrc_stretch *stretch)
{
	uint64_t bytes = stretch->sum_count * sizeof(struct ptrc_type_sum);
	int error = ptrc_log_buffer_add(list, &d->note, sizeof(d->note));

	return error ? error : ptrc_log_buffer_add(list, stretch->sums, bytes);
}

static int pack_stretches(struct ptrc_log_writer *w, struct ptrc_drain *d,
			  struct ptrc_log_buffer *list)
{
	struct ptrc_stretch stretch;
	int error;

	while ((error = next_stretch(w, d, &stretch)) == 0) {
		error = add_note(list, d, &stretch);
		if (!error)
			error = ptrc_log_events_add(w, &stretch);
		if (error)
			return error;
	}
	return error == ENODATA ? 0 : error;
}

/* The note at *at, and its sums; moves *at to the next one. Null: there is none. */
static const struct ptrc_drain_note *next_note(const struct ptrc_log_buffer *list, uint64_t *at,
					       const struct ptrc_type_sum **sums)
{
	const struct ptrc_drain_note *note;

	/* An empty list has no bytes at all. */
	if (*at >= list->used)
		return NULL;
	note = (const void *)(list->bytes + *at);
	*sums = (const void *)(note + 1);
	*at += sizeof(*note) + note->sum_count * sizeof(**sums);
	return note;
}

static void commit_stretches(struct ptrc_drain *d, const struct ptrc_log_buffer *list)
{
	const struct ptrc_drain_note *note;
	const struct ptrc_type_sum *sums;
	uint64_t at = 0;

	while ((note = next_note(list, &at, &sums)))
		ptrc_drain_commit(d, note, sums);
}

/* If this keeper dies when the events are written but not committed, the next one must know
 * which they were. So this notes them in the stream and in the state, which
 * ptrc_log_events_end() saves once all is written. */
static void note_taken(struct ptrc_log_writer *w, struct ptrc_drain *d,
		       const struct ptrc_log_buffer *list)
{
	struct ptrc_drain_given given = ptrc_drain_given(d);
	struct ptrc_log_state *s = &w->state;
	const struct ptrc_drain_note *note;
	const struct ptrc_type_sum *sums;
	uint64_t at = 0;

	while ((note = next_note(list, &at, &sums)))
		ptrc_drain_take(d, note);
	s->written_until = given.until;
	s->flags = (s->flags & ~PTRC_LOG_STATE_GIVEN) |
		   (given.is_gap_told ? PTRC_LOG_STATE_GAP_TOLD : 0) |
		   (given.is_run_over ? PTRC_LOG_STATE_RUN_OVER : 0) |
		   (uint64_t)given.run_tag << PTRC_LOG_STATE_RUN_TAG_SHIFT;
}

/* Used if there is no memory to pack all stretches: writes and commits each by itself. */
static int write_one_by_one(struct ptrc_log_writer *w, struct ptrc_drain *d)
{
	struct ptrc_stretch stretch;
	int error;

	for (;;) {
		ptrc_log_events_begin(w);
		error = next_stretch(w, d, &stretch);
		if (error)
			break;
		error = ptrc_log_events_add(w, &stretch);
		if (!error)
			error = ptrc_log_events_end(w);
		if (error)
			return error;
		ptrc_drain_commit(d, &d->note, stretch.sums);
	}
	return error == ENODATA ? 0 : error;
}

/* Goes back to the beginning of the drain, which keeps its buffer. */
static int start_over(struct ptrc_drain *d, const struct ptrc_drain *begin)
{
	if (d->is_pinned) {
		/* The drain was left in the middle of a chunk. Only the end of a drain removes
		 * the pin. */
		struct ptrc_stream *s = d->stream;

		int error;

		ptrc_drain_end(d, false, false);
		error = ptrc_drain_begin(s, d);
		ptrc_drain_limit(d, begin->stretch_max);
		return error;
	}
	*d = *begin;
	return 0;
}

/*
 * Called before the events are taken out of the stream: gives a tee that looked at the stream a
 * moment ago the time to read them. Does not wait if somebody waits for this flush, or if the
 * stream needs the room.
 */
static void wait_for_tee(struct ptrc_stream *s, uint64_t until)
{
	struct ptrc_stream_header *h = s->header;

	for (int i = 0; i < TEE_WAIT_COUNT; i++) {
		uint64_t beat = ptrc_load_acquire(&h->tee_beat);

		if ((uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC) - beat > PTRC_TEE_AWAY_NS ||
		    ptrc_load_acquire(&h->tee_until) >= until ||
		    ptrc_load_acquire(&h->keeper_seq) != ptrc_load_relaxed(&h->keeper_done) ||
		    (ptrc_load_relaxed(&h->room_word) & 1) ||
		    ptrc_room_used(&s->pool) >= h->stream_min_size / 4 * 3)
			return;
		ptrc_file_sleep_ns(TEE_WAIT_NS);
	}
}

static int drain_all(struct ptrc_log_writer *w, struct ptrc_drain *d,
		     const struct ptrc_names_object *names)
{
	struct ptrc_log_buffer list = {0};
	struct ptrc_drain begin = *d;
	int error;

	ptrc_log_events_begin(w);
	/* The drain has fixed `until`, so the names of all of its events are registered by
	 * now. */
	error = ptrc_log_names_write(w, names);
	if (error)
		return error;
	error = pack_stretches(w, d, &list);
	if (error == ENOMEM) {
		ptrc_log_buffer_free(&list);
		error = start_over(d, &begin);
		return error ? error : write_one_by_one(w, d);
	}
	if (!error) {
		note_taken(w, d, &list);
		error = ptrc_log_events_end(w);
	}
	if (!error) {
		wait_for_tee(d->stream, d->until);
		commit_stretches(d, &list);
	}
	w->state.written_until = 0;
	if (!error)
		ptrc_log_state_save(w);
	ptrc_log_buffer_free(&list);
	return error;
}

/* Suspends a stream whose log is full. A dead keeper may have filled the log and not come to
 * that. */
static bool stop_if_log_is_full(struct ptrc_log_writer *w, struct ptrc_stream *s)
{
	if (!ptrc_log_is_full(w))
		return false;
	if (!(ptrc_load_acquire(&s->header->status) & PTRC_ST_LOG_STOPPED))
		ptrc_stream_log_is_full(s);
	return true;
}

int ptrc_log_flush(struct ptrc_log_writer *w, struct ptrc_stream *s,
		   const struct ptrc_names_object *names)
{
	struct ptrc_drain d;
	bool is_full;
	int error = ptrc_drain_begin(s, &d);

	if (error)
		return error;
	ptrc_drain_limit(&d, PTRC_LOG_STRETCH_MAX);
	error = drain_all(w, &d, names);
	is_full = stop_if_log_is_full(w, s);
	ptrc_drain_end(&d, !error, is_full);
	return error;
}

void ptrc_log_flush_recover(struct ptrc_log_writer *w, struct ptrc_stream *s)
{
	uint64_t flags = w->state.flags;
	struct ptrc_drain_given given = {
		.is_gap_told = (flags & PTRC_LOG_STATE_GAP_TOLD) != 0,
		.is_run_over = (flags & PTRC_LOG_STATE_RUN_OVER) != 0,
		.run_tag = (uint8_t)(flags >> PTRC_LOG_STATE_RUN_TAG_SHIFT),
		.until = w->state.written_until,
	};
	bool is_full = stop_if_log_is_full(w, s);
	struct ptrc_drain d;
	struct ptrc_stretch stretch;
	int error;

	if (w->state.written_until == 0 || ptrc_drain_begin_again(s, &d, &given))
		return;
	ptrc_log_batch_clear(&w->batch);
	while ((error = next_stretch(w, &d, &stretch)) == 0)
		ptrc_drain_commit(&d, &d.note, stretch.sums);
	w->state.written_until = 0;
	ptrc_log_state_save(w);
	ptrc_drain_end(&d, error == ENODATA, is_full);
}
