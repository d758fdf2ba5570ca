/* SPDX-License-Identifier: MIT */
#include "lib/keeper/keeper_work.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/limit.h"
#include "lib/log/log_write.h"
#include "lib/stream/clock.h"
#include "lib/stream/drain.h"
#include "lib/stream/space.h"
#include "lib/stream/status.h"

int ptrc_keeper_work_map(struct ptrc_keeper_work *k)
{
	struct stat st;
	void *map;

	if (!k->stream.header) {
		int error = ptrc_stream_map(k->stream_fd, PTRC_ROLE_KEEPER, &k->stream);

		if (error)
			return error;
	}
	/* The names object of an orphan (a stream whose controller died) may have been removed. */
	if (ptrc_file_stat(k->names_fd, &st))
		return k->is_orphans ? 0 : ENOMEM;
	if ((uint64_t)st.st_size < sizeof(struct ptrc_names_object) ||
	    ptrc_file_map(k->names_fd, sizeof(struct ptrc_names_object), PROT_READ, NULL, &map))
		return ENOMEM;
	k->names = map;
	return 0;
}

/* ---- from the stream into the log ---- */

/*
 * A flush drains the stream (lib/stream/drain.h): the drain returns the events as stretches, each
 * of one writer. The flush packs all stretches first, because the log gets the events of all of
 * them in time order. When all are written, the flush commits each stretch by a note that was made
 * when the stretch was packed: exactly the packed events are taken out of the stream. Events that
 * the writer has added to its chunk since then stay for the next flush.
 *
 * If the log is /dev/null, nothing is packed: the events are counted by type and freed.
 */

/* A tee is a live reader of a stream that also has a log. wait_for_tee() checks at most
 * TEE_WAIT_COUNT times, TEE_WAIT_NS apart, whether the tee has read the events. */
#define TEE_WAIT_NS 500000
#define TEE_WAIT_COUNT 200
#define TEE_WAIT_COMMANDED_COUNT 40 /* as TEE_WAIT_COUNT, if a caller waits for the flush */

/* Packs the next stretch (events of one writer) of the stream into w->batch, the memory for the
 * events of a flush. ENODATA: there are no more. ENOMEM. */
static int next_stretch(struct ptrc_log_writer *w, struct ptrc_drain *d,
			struct ptrc_stretch *stretch)
{
	uint8_t *out;
	int error = ptrc_log_batch_room(&w->batch, ptrc_drain_room(d), &out);

	return error ?: ptrc_drain_next(d, out, stretch);
}

/* Packs all events of the flush, in stretches (events of one writer). For each stretch, `list` gets
 * the note by which visit_notes() commits it, then its numbers of events by type. ENOMEM. */
static int pack_stretches(struct ptrc_log_writer *w, struct ptrc_drain *d,
			  struct ptrc_log_buffer *list)
{
	struct ptrc_stretch stretch;
	int error;

	while ((error = next_stretch(w, d, &stretch)) == 0) {
		uint64_t bytes = stretch.sum_count * sizeof(*stretch.sums);

		error = ptrc_log_buffer_add(list, &d->note, sizeof(d->note))
				?: ptrc_log_buffer_add(list, stretch.sums, bytes);
		error = error ?: ptrc_log_events_add(w, &stretch);
		if (error)
			return error;
	}
	return error == ENODATA ? 0 : error;
}

/* Takes the listed stretches (packed events of one writer) out of the stream, if `commits` is set;
 * otherwise notes in the stream that the log is going to get them. */
static void visit_notes(struct ptrc_drain *d, const struct ptrc_log_buffer *list, bool commits)
{
	const struct ptrc_type_sum *sums;

	for (uint64_t at = 0; at < list->used;) {
		const struct ptrc_drain_note *note = (const void *)(list->bytes + at);

		sums = (const void *)(note + 1);
		at += sizeof(*note) + note->sum_count * sizeof(*sums);
		if (commits)
			ptrc_drain_commit(d, note, sums);
		else
			ptrc_drain_take(d, note);
	}
}

/* Used if there is no memory for packing all stretches (events of one writer each): writes each one
 * to the log and takes it out of the stream before the next. */
static int write_one_by_one(struct ptrc_log_writer *w, struct ptrc_drain *d)
{
	struct ptrc_stretch stretch;
	int error;

	for (;;) {
		ptrc_log_events_begin(w);
		error = next_stretch(w, d, &stretch);
		if (error)
			break;
		error = ptrc_log_events_add(w, &stretch) ?: ptrc_log_events_end(w);
		if (error)
			return error;
		ptrc_drain_commit(d, &d->note, stretch.sums);
	}
	return error == ENODATA ? 0 : error;
}

/* Whether a caller waits for a command that the keeper has not finished yet. */
static bool has_command(const struct ptrc_stream_header *h)
{
	return ptrc_load_acquire(&h->keeper_seq) != ptrc_load_relaxed(&h->keeper_done);
}

/*
 * Called before events are taken out of the stream. A tee is a live reader of a stream that also
 * has a log. If a tee looked at the stream a moment ago, gives it time to read these events. If a
 * caller waits for this flush, the tee gets only 20 ms, enough to read the FLUSH_START event. Does
 * not wait if the log is being closed, because then no tee reads, or if writers need the space.
 */
static void wait_for_tee(struct ptrc_stream *s, uint64_t until)
{
	struct ptrc_stream_header *h = s->header;
	bool is_commanded = has_command(h);
	int count = TEE_WAIT_COUNT;

	if (is_commanded)
		count = ptrc_load_relaxed(&h->keeper_command) == PTRC_KEEPER_FLUSH
				? TEE_WAIT_COMMANDED_COUNT
				: 0;
	for (int i = 0; i < count; i++) {
		uint64_t beat = ptrc_load_acquire(&h->tee_beat);

		if ((uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC) - beat > PTRC_TEE_AWAY_NS ||
		    ptrc_load_acquire(&h->tee_until) >= until ||
		    (!is_commanded && has_command(h)) || (ptrc_load_relaxed(&h->room_word) & 1) ||
		    ptrc_space_used(&s->pool) >= h->stream_min_size / 4 * 3)
			return;
		ptrc_file_sleep_ns(TEE_WAIT_NS);
	}
}

static int drain_all(struct ptrc_keeper_work *k, struct ptrc_drain *d)
{
	struct ptrc_log_writer *w = &k->writer;
	struct ptrc_log_buffer list = {0};
	int error;

	ptrc_log_events_begin(w);
	error = pack_stretches(w, d, &list);
	if (error) {
		ptrc_log_buffer_free(&list);
		ptrc_log_events_give_up(w);
		/* Begins another drain, because only the end of a drain unpins the chunk in which
		 * this one was left. */
		ptrc_drain_end(d, false, false);
		error = ptrc_drain_begin(&k->stream, d) ?: ptrc_log_names_write(w);
		return error ?: write_one_by_one(w, d);
	}
	/* Names are written before events, so that each event in the log has one. The drain returns
	 * only events from before its beginning, and their names are already registered. */
	error = ptrc_log_names_write(w);
	if (error) {
		ptrc_log_events_give_up(w);
	} else {
		/* If this keeper dies after the events are written to the log and before they are
		 * taken out of the stream, the next keeper must not write them again. So the chunks
		 * of the stream and w->state get a note of these events. ptrc_log_events_end()
		 * saves w->state in the stream when all events are written. */
		visit_notes(d, &list, false);
		w->state.written = ptrc_drain_given(d);
		error = ptrc_log_events_end(w);
	}
	if (!error) {
		wait_for_tee(d->stream, d->until);
		visit_notes(d, &list, true);
	}
	w->state.written.until = 0;
	if (!error)
		ptrc_log_state_save(w);
	ptrc_log_buffer_free(&list);
	return error;
}

/* For a log that keeps nothing, /dev/null: counts the events and takes them out of the stream. */
static int count_all(struct ptrc_log_writer *w, struct ptrc_drain *d)
{
	struct ptrc_stretch stretch;
	int error;

	wait_for_tee(d->stream, d->until);
	d->only_counts = true;
	while ((error = next_stretch(w, d, &stretch)) == 0) {
		w->state.events += stretch.event_count;
		w->state.bytes += stretch.counted;
		ptrc_drain_commit(d, &d->note, stretch.sums);
	}
	ptrc_log_state_save(w);
	return error == ENODATA ? 0 : error;
}

/* Suspends the stream if its log is full. An earlier keeper may have died after it filled the log
 * and before it suspended the stream. */
static bool stop_if_log_is_full(struct ptrc_keeper_work *k)
{
	bool is_full = ptrc_log_is_full(&k->writer);

	if (is_full && !(ptrc_load_acquire(&k->stream.header->status) & PTRC_ST_LOG_STOPPED))
		ptrc_stream_log_is_full(&k->stream);
	return is_full;
}

int ptrc_keeper_work_drain(struct ptrc_keeper_work *k)
{
	struct ptrc_drain d;
	bool is_full;
	int error = ptrc_drain_begin(&k->stream, &d);

	k->left_out = 0;
	if (error)
		return error;
	error = k->writer.keeps_nothing ? count_all(&k->writer, &d) : drain_all(k, &d);
	if (error)
		k->left_out = d.left_out;
	if (error && !k->is_closing)
		ptrc_log_events_undo(&k->writer);
	is_full = stop_if_log_is_full(k);
	ptrc_drain_end(&d, !error, is_full);
	return error;
}

void ptrc_keeper_work_recover(struct ptrc_keeper_work *k)
{
	struct ptrc_log_writer *w = &k->writer;
	bool is_full = stop_if_log_is_full(k);
	struct ptrc_drain d;
	struct ptrc_stretch stretch;
	int error;

	if (w->state.written.until == 0 ||
	    ptrc_drain_begin_again(&k->stream, &d, &w->state.written))
		return;
	while ((error = next_stretch(w, &d, &stretch)) == 0)
		ptrc_drain_commit(&d, &d.note, stretch.sums);
	w->state.written.until = 0;
	ptrc_log_state_save(w);
	ptrc_drain_end(&d, error == ENODATA, is_full);
}

/* ---- flush, rotate, clear, close ---- */

/* If the stream has stopped because it was full, and is to restart once its events are flushed,
 * returns 1 + the number of times that it was started, which the restart changes. Otherwise 0. */
static uint64_t run_to_restart(const struct ptrc_stream_header *h)
{
	if (!(ptrc_load_acquire(&h->status) & PTRC_ST_RESTART_ARMED))
		return 0;
	return ptrc_load_relaxed(&h->run) + 1;
}

/* Called after a flush that succeeded. Returns ESTALE if another program has changed the file; the
 * log is continued nevertheless. */
static int look_at_log(struct ptrc_keeper_work *k)
{
	ptrc_log_look(&k->writer);
	if (!(k->writer.state.flags & PTRC_LOG_STATE_CUT))
		return 0;
	ptrc_status_error(k->stream.header, ESTALE);
	return ESTALE;
}

/* Wakes the writers that wait for room in the stream, after a flush that succeeded, and also if no
 * flush will ever succeed (EPIPE, ECANCELED), because waiting is useless then. After a success
 * PTRC_WAKE_ROOM is cleared: writers that set it before the flush took the events have room now. */
static void tell_writers(struct ptrc_stream_header *h, int error)
{
	ptrc_store_relaxed(&h->flush_error, error);
	if (!error) {
		atomic_fetch_and_explicit(&h->keeper_wake, ~PTRC_WAKE_ROOM, memory_order_acq_rel);
		atomic_fetch_add_explicit(&h->room_made, 1, memory_order_release);
	}
	if (!error || error == EPIPE || error == ECANCELED)
		ptrc_stream_wake_writers(h);
}

static int flush(struct ptrc_keeper_work *k, bool has_markers, bool is_automatic)
{
	struct ptrc_stream_header *h = k->stream.header;
	struct ptrc_context origin = h->command_origin;
	/* FLUSH_START and FLUSH_STOP belong to the call that asked for the flush; those of an
	 * automatic flush belong to the trace system. */
	const struct ptrc_context *by = is_automatic ? NULL : &origin;
	uint64_t addr = is_automatic ? 0 : h->command_addr;
	uint64_t *flags = &k->writer.state.flags;
	uint64_t armed_run = run_to_restart(h);
	int error;

	/* While flushes fail, only the first records its markers (FLUSH_START and FLUSH_STOP), as
	 * each pair takes room in the stream. A full log takes no more markers. */
	if (*flags & (PTRC_LOG_STATE_MARKERS_WAIT | PTRC_LOG_STATE_FULL))
		has_markers = false;
	ptrc_status_set(h, PTRC_ST_FLUSHING);
	/* The file is checked before the flush writes to it, because the write may hide that
	 * another program has truncated it. */
	ptrc_log_look(&k->writer);
	if (has_markers)
		ptrc_stream_marker(&k->stream, POSIX_TRACE_FLUSH_START, by, addr);
	error = ptrc_keeper_work_drain(k);
	tell_writers(h, error);
	/* A caller that asked for the flush expects the processes of the events to be described in
	 * the log. */
	if (!error && !is_automatic)
		ptrc_log_origin_meet(&k->writer);
	if (has_markers && !ptrc_log_is_full(&k->writer))
		ptrc_stream_marker(&k->stream, POSIX_TRACE_FLUSH_STOP, by, addr);
	if (!error)
		*flags &= ~PTRC_LOG_STATE_MARKERS_WAIT;
	else if (has_markers)
		*flags |= PTRC_LOG_STATE_MARKERS_WAIT;
	if (error)
		ptrc_status_error(h, error);
	ptrc_status_clear(h, PTRC_ST_FLUSHING);
	/* A stream that should have restarted and did not is damaged: flushing it again at once
	 * would not help. */
	k->has_failed = error != 0 || (armed_run && armed_run == run_to_restart(h));
	return error ?: look_at_log(k);
}

void ptrc_keeper_work_flush(struct ptrc_keeper_work *k)
{
	flush(k, true, true);
}

void ptrc_keeper_work_rotate(struct ptrc_keeper_work *k)
{
	struct ptrc_stream_header *h = k->stream.header;
	int error;

	/* The FLUSH_STOP of the last flush is still in the stream. It goes into the old file, which
	 * has the events of that flush. */
	error = ptrc_keeper_work_drain(k);
	tell_writers(h, error);
	/* If the drain failed, no rotation is tried until a flush succeeds. */
	k->has_failed = error != 0;
	if (error) {
		ptrc_status_error(h, error);
		return;
	}
	/* If another program has changed the file, this reports it in the status of the stream.
	 * Nothing looks at the file after the rotation. */
	(void)look_at_log(k);
	ptrc_log_rotate(&k->writer);
}

static int clear(struct ptrc_keeper_work *k)
{
	struct ptrc_stream_header *h = k->stream.header;
	struct ptrc_clock_cursor cursor = {0};

	ptrc_stream_clear(&k->stream);
	k->writer.state.flags &= ~PTRC_LOG_STATE_MARKERS_WAIT;
	k->has_failed = false;
	ptrc_log_rotate_clear(&k->writer);
	return ptrc_log_writer_clear(&k->writer,
				     ptrc_clock_realtime(h, &cursor, ptrc_stream_now(h)));
}

bool ptrc_keeper_may_wait(const struct ptrc_keeper_work *k, int error)
{
	/* A pipe whose reader has gone never accepts data again. If another program has changed the
	 * file (ESTALE), the rest is still written to it, except for an orphan, whose events may
	 * come into another file. */
	if (!k->is_for_dead || (!k->is_orphans && (!k->writer.is_regular || error == ESTALE)))
		return false;
	/* EFBIG: a file size limit was reached. If that is the hard limit of this process, another
	 * process may succeed. If it is the limit of the log's controller, no process can, so the
	 * log is closed and reports the error. */
	if (error == EFBIG)
		return ptrc_limit_most(RLIMIT_FSIZE) <
		       ptrc_load_relaxed(&k->stream.header->fsize_limit);
	return error != 0;
}

/* Writes the last events of the log, as ptrc_trace_set_ending() describes: os.command (how the
 * traced command has ended) and os.went_on (how many processes ran on). The state is saved after
 * both. So if this keeper dies before that, the next one removes what was written and writes both
 * again. */
static int write_ending(struct ptrc_keeper_work *k)
{
	struct ptrc_log_writer *w = &k->writer;
	const struct ptrc_stream_header *h = k->stream.header;
	const struct ptrc_ending *e = &h->ending;
	const struct ptrc_context origin = {.pid = h->target_pid, .tid = h->target_pid};
	struct ptrc_clock_cursor cursor = {0};
	int32_t status[2];
	uint32_t processes;
	int64_t ns;
	int error = 0;

	if (ptrc_load_acquire(&e->state) != PTRC_ENDING_KNOWN ||
	    w->state.flags & PTRC_LOG_STATE_ENDED)
		return 0;
	ns = ptrc_clock_realtime(h, &cursor, e->stamp);
	status[0] = e->status;
	status[1] = e->signal;
	processes = e->processes;
	if (e->has_status)
		error = ptrc_log_events_write_own(w, ns, &origin, "os.command",
						  "i32 status, i32 signal", status, sizeof(status));
	if (!error && processes)
		error = ptrc_log_events_write_own(w, ns, &origin, "os.went_on", "u32 processes",
						  &processes, sizeof(processes));
	w->state.flags |= PTRC_LOG_STATE_ENDED;
	ptrc_log_state_save(w);
	return error;
}

int ptrc_keeper_work_close(struct ptrc_keeper_work *k, bool is_automatic)
{
	struct ptrc_stream_header *h = k->stream.header;
	bool has_markers = k->writer.policy != POSIX_TRACE_UNTIL_FULL;
	int error, again;

	k->is_closing = true;
	ptrc_log_origin_arrive(&k->writer, true);
	error = flush(k, has_markers, is_automatic);

	if (ptrc_keeper_may_wait(k, error)) {
		ptrc_log_events_undo(&k->writer);
		ptrc_log_state_save(&k->writer);
		return error;
	}
	/* ESTALE (another program has changed the file) does not prevent the rest from being
	 * written; look_at_log() reports it below. */
	if (error == ESTALE)
		error = 0;
	/* Drains the stream once more, to write the FLUSH_STOP that flush() has recorded above. An
	 * UNTIL_FULL log gets no markers here, because nothing may follow its last STOP. */
	if (!error && has_markers)
		error = ptrc_keeper_work_drain(k);
	again = ptrc_log_names_write(&k->writer);
	if (!error)
		error = again;
	if (!error)
		error = write_ending(k) ?: look_at_log(k);
	if (error)
		ptrc_status_error(h, error);
	/* No later flush drops the events that the failed one was to drop. If this keeper dies
	 * before the log is closed, its successor may count them a second time, which is better
	 * than not at all. */
	if (k->left_out)
		ptrc_status_count_losses(h, k->left_out);
	again = ptrc_log_writer_close(&k->writer, NULL);
	return error ?: again;
}

int ptrc_keeper_work_obey(struct ptrc_keeper_work *k)
{
	int64_t wait_ns = -1;
	int error;

	switch (ptrc_load_relaxed(&k->stream.header->keeper_command)) {
	case PTRC_KEEPER_FLUSH:
		error = flush(k, true, false);
		/* The log is rotated before this flush is reported. If it were rotated later, the
		 * keeper could get the next command before or after the rotation, and chance would
		 * decide which file has which events. */
		if (!k->has_failed && ptrc_log_rotate_is_due(&k->writer, &wait_ns))
			ptrc_keeper_work_rotate(k);
		return error;
	case PTRC_KEEPER_CLEAR:
		return clear(k);
	case PTRC_KEEPER_CLOSE:
		return ptrc_keeper_work_close(k, false);
	default:
		return EINVAL;
	}
}
