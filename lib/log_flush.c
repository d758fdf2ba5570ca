/* SPDX-License-Identifier: MIT */
#include "lib/log_flush.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "lib/clock.h"
#include "lib/drain.h"
#include "lib/file.h"
#include "lib/record.h"

/*
 * A flush goes over the stream twice: first every run is copied, as the log gets the
 * events in time order over all of them; when they are written the same runs come again
 * and are committed. What a slow writer has added meanwhile to a run is written then.
 */

#define NO_CHUNK UINT32_MAX

/* A reader that follows a stream looks every few milliseconds, and may have to wait for a
 * processor; one that has not looked for longer is not there. */
#define TEE_AWAY_NS UINT64_C(30000000)
#define TEE_WAIT_NS 500000
#define TEE_WAIT_COUNT 40

/* A run as it was copied. */
struct copied {
	uint32_t chunk; /* or NO_CHUNK: made up */
	uint32_t bytes;
	int64_t first_ns;
};

static uint32_t chunk_of(const struct ptrc_drain *d)
{
	return d->is_pinned ? d->chunk : NO_CHUNK;
}

static int copy_runs(struct ptrc_log_writer *w, struct ptrc_drain *d,
		     struct ptrc_log_buffer *list)
{
	struct ptrc_run run;
	int err;

	while ((err = ptrc_drain_next(d, &run)) == 0) {
		struct copied c = {chunk_of(d), run.bytes, run.first_ns};

		err = ptrc_log_buffer_add(list, &c, sizeof(c));
		if (!err)
			err = ptrc_log_writer_add(w, &run);
		if (err)
			return err;
	}
	return err == ENODATA ? 0 : err;
}

/* A run by itself. */
static int write_one(struct ptrc_log_writer *w, const struct ptrc_run *run)
{
	int err;

	ptrc_log_writer_begin(w);
	err = ptrc_log_writer_add(w, run);
	return err ? err : ptrc_log_writer_end(w);
}

/* The first so many bytes of it are written. */
static int write_rest(struct ptrc_log_writer *w, struct ptrc_run *run, uint32_t bytes)
{
	if (run->bytes <= bytes)
		return 0;
	run->records = (const uint8_t *)run->records + bytes;
	run->bytes -= bytes;
	return write_one(w, run);
}

/* The run as it was copied, at or behind list[*at]; null: it was not. */
static const struct copied *find_copied(const struct ptrc_log_buffer *list, size_t *at,
					uint32_t chunk, const struct ptrc_run *run)
{
	const struct copied *all = (const struct copied *)(const void *)list->bytes;
	size_t count = list->used / sizeof(*all);

	for (size_t i = *at; i < count; i++)
		if (all[i].chunk == chunk && all[i].first_ns == run->first_ns) {
			*at = i + 1;
			return &all[i];
		}
	return NULL;
}

static int commit_runs(struct ptrc_log_writer *w, struct ptrc_drain *d,
		       const struct ptrc_log_buffer *list)
{
	struct ptrc_run run;
	size_t at = 0;
	int err;

	while ((err = ptrc_drain_next(d, &run)) == 0) {
		const struct copied *c = find_copied(list, &at, chunk_of(d), &run);

		err = write_rest(w, &run, c ? c->bytes : 0);
		if (err)
			return err;
		ptrc_drain_commit(d);
	}
	return err == ENODATA ? 0 : err;
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
		ptrc_drain_commit(d);
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
		w->state.written_until = d->until;
		err = ptrc_log_writer_end(w);
		if (err)
			w->state.written_until = 0;
	}
	if (!err) {
		wait_for_tee(d->stream, d->until);
		err = start_over(d, &begin);
	}
	if (!err)
		err = commit_runs(w, d, &list);
	w->state.written_until = 0;
	if (!err)
		ptrc_log_writer_save(w);
	ptrc_log_buffer_free(&list);
	return err;
}

int ptrc_log_flush(struct ptrc_log_writer *w, struct ptrc_stream *s,
		   const struct ptrc_names_object *names)
{
	bool was_full = ptrc_log_writer_is_full(w), is_full;
	struct ptrc_drain d;
	uint64_t until;
	int err = ptrc_drain_begin(s, &d);

	if (err)
		return err;
	until = d.until;
	err = drain_all(w, &d, names);
	is_full = ptrc_log_writer_is_full(w);
	if (is_full && !was_full)
		ptrc_stream_log_is_full(s);
	ptrc_drain_end(&d, !err, is_full);
	if (!err)
		atomic_store_explicit(&s->header->flushed_until, until,
				      memory_order_release);
	return err;
}

void ptrc_log_flush_recover(struct ptrc_log_writer *w, struct ptrc_stream *s)
{
	struct ptrc_drain d;
	struct ptrc_run run;

	if (w->state.written_until == 0 || ptrc_drain_begin(s, &d))
		return;
	if (w->state.written_until < d.until)
		d.until = w->state.written_until;
	while (ptrc_drain_next(&d, &run) == 0)
		ptrc_drain_commit(&d);
	ptrc_drain_end(&d, false, false);
	w->state.written_until = 0;
	ptrc_log_writer_save(w);
}
