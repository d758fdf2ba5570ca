/* SPDX-License-Identifier: MIT */
#include "lib/log/log_flush.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "lib/stream/clock.h"
#include "lib/stream/drain.h"
#include "lib/base/file.h"
#include "lib/model/record.h"

/*
 * First every run is copied, as the log gets the events in time order over all of them;
 * when they are written each is committed, by what was noted when it was copied. What a slow
 * writer has added meanwhile to a run stays for the next flush.
 */

/* A reader that follows a stream looks every few milliseconds, and may have to wait for a
 * processor; one that has not looked for longer is not there. */
#define TEE_AWAY_NS UINT64_C(150000000)
#define TEE_WAIT_NS 500000
#define TEE_WAIT_COUNT 200

/* Notes of runs, each with its sums behind it. */
static int add_note(struct ptrc_log_buffer *list, const struct ptrc_drain *d)
{
	uint64_t bytes = d->note.sum_count * sizeof(struct ptrc_type_sum);
	int err = ptrc_log_buffer_add(list, &d->note, sizeof(d->note));

	return err ? err : ptrc_log_buffer_add(list, ptrc_drain_run_sums(d), bytes);
}

static int copy_runs(struct ptrc_log_writer *w, struct ptrc_drain *d,
		     struct ptrc_log_buffer *list)
{
	struct ptrc_run run;
	int err;

	while ((err = ptrc_drain_next(d, &run)) == 0) {
		err = add_note(list, d);
		if (!err)
			err = ptrc_log_writer_add(w, &run);
		if (err)
			return err;
	}
	return err == ENODATA ? 0 : err;
}

static void commit_runs(struct ptrc_drain *d, const struct ptrc_log_buffer *list)
{
	uint64_t at = 0;

	while (at < list->used) {
		const struct ptrc_drain_note *note = (const void *)(list->bytes + at);

		at += sizeof(*note);
		ptrc_drain_commit(d, note, (const void *)(list->bytes + at));
		at += note->sum_count * sizeof(struct ptrc_type_sum);
	}
}

/* For a successor, should we die when they are written: which they were. Not saved before
 * they are. */
static void note_taken(struct ptrc_log_writer *w, struct ptrc_drain *d,
		       const struct ptrc_log_buffer *list)
{
	struct ptrc_drain_given given = ptrc_drain_given(d);
	struct ptrc_log_state *s = &w->state;
	uint64_t at = 0;

	while (at < list->used) {
		const struct ptrc_drain_note *note = (const void *)(list->bytes + at);

		ptrc_drain_take(d, note);
		at += sizeof(*note) + note->sum_count * sizeof(struct ptrc_type_sum);
	}
	s->written_until = given.until;
	s->flags = (s->flags & ~PTRC_LOG_STATE_GIVEN) |
		   (given.is_gap_told ? PTRC_LOG_STATE_GAP_TOLD : 0) |
		   (given.is_run_over ? PTRC_LOG_STATE_RUN_OVER : 0) |
		   (uint64_t)given.run_tag << PTRC_LOG_STATE_RUN_TAG_SHIFT;
}

/* A run by itself. */
static int write_one(struct ptrc_log_writer *w, const struct ptrc_run *run)
{
	int err;

	ptrc_log_writer_begin(w);
	err = ptrc_log_writer_add(w, run);
	return err ? err : ptrc_log_writer_end(w);
}

static void commit_one(struct ptrc_drain *d)
{
	ptrc_drain_commit(d, &d->note, ptrc_drain_run_sums(d));
}

/* Where memory is too short to copy them all. */
static int write_one_by_one(struct ptrc_log_writer *w, struct ptrc_drain *d)
{
	struct ptrc_run run;
	int err;

	while ((err = ptrc_drain_next(d, &run)) == 0) {
		err = write_one(w, &run);
		if (err)
			return err;
		commit_one(d);
	}
	return err == ENODATA ? 0 : err;
}

/* Go back to the begin of the drain; its buffer stays. */
static int start_over(struct ptrc_drain *d, const struct ptrc_drain *begin)
{
	if (d->is_pinned) {
		/* Left in the middle of a chunk: only the drain itself can let go of
		 * it. */
		struct ptrc_stream *s = d->stream;

		ptrc_drain_end(d, false, false);
		return ptrc_drain_begin(s, d);
	}
	*d = *begin;
	return 0;
}

/*
 * A reader that was here a moment ago comes again, and has the events before they are
 * gone: unless someone waits for this flush, or the room is needed.
 */
static void wait_for_tee(struct ptrc_stream *s, uint64_t until)
{
	struct ptrc_stream_header *h = s->header;

	for (int i = 0; i < TEE_WAIT_COUNT; i++) {
		uint64_t beat = atomic_load_explicit(&h->tee_beat, memory_order_acquire);

		if ((uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC) - beat > TEE_AWAY_NS ||
		    atomic_load_explicit(&h->tee_until, memory_order_acquire) >= until ||
		    atomic_load_explicit(&h->keeper_seq, memory_order_acquire) !=
			    atomic_load_explicit(&h->keeper_done, memory_order_relaxed) ||
		    ptrc_stream_unread_bytes(s) >= h->stream_min_size / 4 * 3)
			return;
		ptrc_file_sleep_ns(TEE_WAIT_NS);
	}
}

static int drain_all(struct ptrc_log_writer *w, struct ptrc_drain *d,
		     const struct ptrc_names_object *names)
{
	struct ptrc_log_buffer list = {0};
	struct ptrc_drain begin = *d;
	int err;

	ptrc_log_writer_begin(w);
	/* The end of the drain is fixed: names of its events are registered by now. */
	err = ptrc_log_writer_names(w, names);
	if (err)
		return err;
	err = copy_runs(w, d, &list);
	if (err == ENOMEM) {
		ptrc_log_buffer_free(&list);
		err = start_over(d, &begin);
		return err ? err : write_one_by_one(w, d);
	}
	if (!err) {
		note_taken(w, d, &list);
		err = ptrc_log_writer_end(w);
	}
	if (!err) {
		wait_for_tee(d->stream, d->until);
		commit_runs(d, &list);
	}
	w->state.written_until = 0;
	if (!err)
		ptrc_log_writer_save(w);
	ptrc_log_buffer_free(&list);
	return err;
}

/* Also if it was a dead predecessor that filled it. */
static bool stop_if_log_is_full(struct ptrc_log_writer *w, struct ptrc_stream *s)
{
	if (!ptrc_log_writer_is_full(w))
		return false;
	if (!(atomic_load_explicit(&s->header->status, memory_order_acquire) &
	      PTRC_ST_LOG_STOPPED))
		ptrc_stream_log_is_full(s);
	return true;
}

int ptrc_log_flush(struct ptrc_log_writer *w, struct ptrc_stream *s,
		   const struct ptrc_names_object *names)
{
	struct ptrc_drain d;
	bool is_full;
	int err = ptrc_drain_begin(s, &d);

	if (err)
		return err;
	err = drain_all(w, &d, names);
	is_full = stop_if_log_is_full(w, s);
	ptrc_drain_end(&d, !err, is_full);
	return err;
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
	struct ptrc_run run;
	int err;

	if (w->state.written_until == 0 || ptrc_drain_begin_again(s, &d, &given))
		return;
	while ((err = ptrc_drain_next(&d, &run)) == 0)
		commit_one(&d);
	w->state.written_until = 0;
	ptrc_log_writer_save(w);
	ptrc_drain_end(&d, err == ENODATA, is_full);
}
