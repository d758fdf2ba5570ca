/* SPDX-License-Identifier: MIT */
#include "lib/keeper/keeper_work.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/limit.h"
#include "lib/log/log_flush.h"
#include "lib/log/log_names.h"
#include "lib/log/log_output.h"
#include "lib/log/log_origin.h"
#include "lib/log/log_rotate.h"
#include "lib/stream/clock.h"
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
	/* The names of an orphan may be gone. */
	if (ptrc_file_stat(k->names_fd, &st))
		return k->is_orphans ? 0 : ENOMEM;
	if ((uint64_t)st.st_size < sizeof(struct ptrc_names_object) ||
	    ptrc_file_map(k->names_fd, sizeof(struct ptrc_names_object), PROT_READ, NULL, &map))
		return ENOMEM;
	k->names = map;
	return 0;
}

/* The number, from 1, of the run that ended for want of room and whose successor starts when
 * its events are flushed. 0: there is no such run. */
static uint64_t run_to_restart(const struct ptrc_stream_header *h)
{
	if (!(ptrc_load_acquire(&h->status) & PTRC_ST_RESTART_ARMED))
		return 0;
	return ptrc_load_relaxed(&h->run) + 1;
}

/* The error of a flush that went well itself: ESTALE if the file does not hold any more what the
 * writer wrote. What comes is written all the same. */
static int look_at_log(struct ptrc_keeper_work *k)
{
	ptrc_log_look(&k->writer);
	if (!(k->writer.state.flags & PTRC_LOG_STATE_CUT))
		return 0;
	ptrc_status_error(k->stream.header, ESTALE);
	return ESTALE;
}

/* Writers that sleep until there is room look again when a flush has gone well, and also when no
 * flush will ever again, as then they do not wait any longer. Those that have rung for room before
 * the flush took the events have got it. */
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
	/* The markers of an automatic flush are the trace system's; other markers belong to the
	 * call that asked for the flush. */
	const struct ptrc_context *by = is_automatic ? NULL : &origin;
	uint64_t addr = is_automatic ? 0 : h->command_addr;
	uint64_t *flags = &k->writer.state.flags;
	uint64_t armed_run = run_to_restart(h);
	int error;

	/* While flushes fail only the first one records its markers, as each pair takes room
	 * from the stream. A full log takes no more of them. */
	if (*flags & (PTRC_LOG_STATE_MARKERS_WAIT | PTRC_LOG_STATE_FULL))
		has_markers = false;
	ptrc_status_set(h, PTRC_ST_FLUSHING);
	/* The flush writes to the file, which may hide what happened to it. */
	ptrc_log_look(&k->writer);
	if (has_markers)
		ptrc_stream_marker(&k->stream, POSIX_TRACE_FLUSH_START, by, addr);
	error = ptrc_log_flush(&k->writer, &k->stream, k->names);
	tell_writers(h, error);
	/* Who has asked for the flush finds in the log whose it is. */
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
	/* A stream that was to restart and did not is damaged. Flushing it at once, again and
	 * again, would not help. */
	k->has_failed = error != 0 || (armed_run && armed_run == run_to_restart(h));
	return error ? error : look_at_log(k);
}

int ptrc_keeper_work_flush(struct ptrc_keeper_work *k)
{
	return flush(k, true, true);
}

void ptrc_keeper_work_rotate(struct ptrc_keeper_work *k)
{
	struct ptrc_stream_header *h = k->stream.header;
	int error;

	/* What the last flush recorded of itself belongs to the member that has its events. */
	error = ptrc_log_flush(&k->writer, &k->stream, k->names);
	tell_writers(h, error);
	/* Until a flush goes well, no member is due. */
	k->has_failed = error != 0;
	if (!error)
		error = ptrc_log_rotate(&k->writer);
	k->log_fd = k->writer.fd;
	if (error)
		ptrc_status_error(h, error);
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

bool ptrc_keeper_may_wait(const struct ptrc_stream_header *h, int error)
{
	/* The hard limit of this process may be what forbids it. The limit of the log's controller
	 * is the same for everybody who tries: the log then tells of the error. */
	if (error == EFBIG)
		return ptrc_limit_most(RLIMIT_FSIZE) < ptrc_load_relaxed(&h->fsize_limit);
	return error != 0;
}

int ptrc_keeper_work_close(struct ptrc_keeper_work *k, bool is_automatic)
{
	struct ptrc_stream_header *h = k->stream.header;
	bool has_markers = k->writer.policy != POSIX_TRACE_UNTIL_FULL;
	int error, again;

	ptrc_log_origin_arrive(&k->writer, true);
	error = flush(k, has_markers, is_automatic);

	if (k->is_orphans && ptrc_keeper_may_wait(h, error)) {
		ptrc_log_state_leave(&k->writer);
		return error;
	}
	/* A file that was cut is no hindrance, and is looked at once more below. */
	if (error == ESTALE)
		error = 0;
	/* Once more for the FLUSH_STOP of the first. In an UNTIL_FULL log nothing follows the
	 * last STOP. */
	if (!error && has_markers)
		error = ptrc_log_flush(&k->writer, &k->stream, k->names);
	again = ptrc_log_names_write(&k->writer, k->names);
	if (!error)
		error = again;
	if (!error)
		error = look_at_log(k);
	if (error)
		ptrc_status_error(h, error);
	again = ptrc_log_writer_close(&k->writer);
	return error ? error : again;
}

int ptrc_keeper_work_obey(struct ptrc_keeper_work *k)
{
	switch (ptrc_load_relaxed(&k->stream.header->keeper_command)) {
	case PTRC_KEEPER_FLUSH:
		return flush(k, true, false);
	case PTRC_KEEPER_CLEAR:
		return clear(k);
	case PTRC_KEEPER_CLOSE:
		return ptrc_keeper_work_close(k, false);
	default:
		return EINVAL;
	}
}
