/* SPDX-License-Identifier: MIT */
#include "lib/log/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"
#include "lib/log/log_events.h"
#include "lib/log/log_host.h"
#include "lib/log/log_index.h"
#include "lib/log/log_names.h"
#include "lib/log/log_output.h"
#include "lib/log/log_process.h"
#include "lib/log/log_thread.h"
#include "lib/log/log_ring.h"
#include "lib/model/eventset.h"
#include "lib/stream/clock.h"
#include "lib/stream/status.h"

/* ---- head ---- */

/* Bytes of a ring for `limit` bytes of events: with headers of packets and sections, and the
 * room that a wrap leaves unused. */
static uint64_t ring_size_for(uint64_t limit)
{
	uint64_t most = UINT64_C(1) << 60;

	if (limit > most)
		limit = most;
	return ptrc_align8(limit + limit / 16 + 16384);
}

void ptrc_log_reserve_close(struct ptrc_log_writer *w)
{
	w->close_reserve = 2 * sizeof(struct ptrc_log_packet) + sizeof(struct ptrc_log_status);
}

/* The state of a log without events. If others of its files come before this one, it goes on where
 * they end. */
static void begin_state(struct ptrc_log_writer *w)
{
	struct ptrc_log_state old = w->state, *s = &w->state;

	memset(s, 0, sizeof(*s));
	s->flags = PTRC_LOG_STATE_AFTER_STOP;
	s->member = old.member;
	s->oldest = old.oldest;
	s->begun_ns = ptrc_clock_ns(CLOCK_BOOTTIME);
	if (old.ordinal == 0)
		return;
	s->flags = old.flags & (PTRC_LOG_STATE_AFTER_STOP | PTRC_LOG_STATE_FILTER_UNKNOWN |
				PTRC_LOG_STATE_MARKERS_WAIT);
	s->ordinal = old.ordinal;
	s->seq = s->first_seq = old.first_seq;
	s->events_before = old.events_before;
	s->bytes_before = old.bytes_before;
	s->log_lost_before = old.log_lost_before;
	s->lost_before = old.lost_before;
	s->waits_before = old.waits_before;
	s->wait_ns_before = old.wait_ns_before;
	memcpy(s->filter, old.filter, sizeof(s->filter));
}

void ptrc_log_writer_forget(struct ptrc_log_writer *w)
{
	memset(&w->state, 0, sizeof(w->state));
}

int ptrc_log_writer_head(struct ptrc_log_writer *w)
{
	const struct ptrc_stream_header *h = w->header;
	const struct ptrc_attr *a = &h->attr;
	struct ptrc_log_prefix prefix = {.byte_order = PTRC_LOG_BYTE_ORDER,
					 .version = PTRC_LOG_VERSION,
					 .word_size = PTRC_LOG_WORD_SIZE,
					 .machine = PTRC_LOG_MACHINE};
	struct ptrc_log_head head = {
		.create_sec = a->createtime_sec,
		.create_nsec = a->createtime_nsec,
		.clockres_sec = a->clockres_sec,
		.clockres_nsec = a->clockres_nsec,
		.inherited = (uint32_t)a->inherited,
		.log_policy = (uint32_t)w->policy,
		.stream_policy = (uint32_t)a->stream_full_policy,
		.kind = w->kind,
		.max_data_size = a->max_data_size,
		.stream_min_size = a->stream_min_size,
		.log_max_size = a->log_max_size,
		.full_wait_ns = a->full_wait_ns,
		.rotate_bytes = w->rotate_bytes,
		.rotate_ns = w->rotate_ns,
		.keep = w->keep,
		.member = w->state.member,
		.ordinal = w->state.ordinal,
		.first_seq = w->state.first_seq,
		.events_before = w->state.events_before,
		.before = {.lost_events = w->state.lost_before,
			   .log_lost_events = w->state.log_lost_before,
			   .waits = w->state.waits_before,
			   .wait_ns = w->state.wait_ns_before,
			   .is_overrun = w->state.ordinal &&
					 (ptrc_load_acquire(&h->status) & PTRC_ST_EVER_OVERRUN)},
		.target_pid = h->target_pid,
		.controller_pid = h->controller_pid,
		.owner_uid = h->owner_uid,
		.stream_id = h->id,
	};
	int error = 0;

	memcpy(prefix.signature, PTRC_LOG_SIGNATURE, sizeof(prefix.signature));
	memcpy(head.name, a->name, sizeof(head.name));
	memcpy(head.genversion, a->genversion, sizeof(head.genversion));
	head.name[sizeof(head.name) - 1] = head.genversion[sizeof(head.genversion) - 1] = '\0';
	if (w->kind == PTRC_LOG_RING) {
		head.close_offset = PTRC_LOG_CLOSE_OFFSET;
		head.ring_offset = PTRC_LOG_RING_OFFSET;
		head.ring_size = w->ring_size;
	}
	begin_state(w);
	ptrc_log_reserve_close(w);
	w->has_retry = false;
	w->held.used = 0;
	w->lap.used = w->lap_first = 0;
	ptrc_log_index_begin(w, false);
	ptrc_log_index_note_filter(w);
	w->file_end = 0;
	w->has_last = false;
	if (w->is_regular) {
		long ret = ptrc_sys(SYS_ftruncate, w->fd, 0);

		if (ret < 0)
			return (int)-ret;
	}
	ptrc_log_buffer_clear(&w->out);
	for (int i = 0; i < PTRC_LOG_HEAD_COPIES && !error; i++) {
		ptrc_log_buffer_add(&w->out, &prefix, sizeof(prefix));
		error = ptrc_log_packet_put(w, PTRC_LOG_HEAD, &head, sizeof(head));
	}
	if (!error)
		error = w->kind == PTRC_LOG_RING ? ptrc_log_write_at(w, 0) : ptrc_log_append(w);
	if (error)
		return error;
	ptrc_log_processes_begin(w);
	ptrc_log_threads_begin(w);
	memset(&w->clocks, 0, sizeof(w->clocks));
	ptrc_log_host_write(w);
	ptrc_log_clock_write(w, PTRC_LOG_CLOCK_NOW);
	ptrc_log_state_save(w);
	return 0;
}

/* ---- begin, clear, end ---- */

int ptrc_log_writer_init(struct ptrc_log_writer *w, struct ptrc_stream_header *header, int fd,
			 bool is_restart)
{
	struct stat st = {.st_size = 0};
	long flags = 0;

	memset(w, 0, sizeof(*w));
	w->header = header;
	w->origin = header;
	w->fd = fd;
	w->dirfd = -1;
	/* A plain stream, whose events go into a log because its controller died, has no limit. */
	w->policy = header->has_log ? header->attr.log_full_policy : POSIX_TRACE_APPEND;
	w->place = ptrc_log_state_place(header);
	if (fd >= 0)
		flags = ptrc_sys(SYS_fcntl, fd, F_GETFL);
	if (flags < 0 || (fd >= 0 && ptrc_sys(SYS_fstat, fd, &st) < 0))
		return EINVAL;
	w->is_regular = S_ISREG(st.st_mode);
	w->is_socket = S_ISSOCK(st.st_mode);
	w->must_not_append = w->is_regular && (flags & O_APPEND);
	w->kind = w->policy == POSIX_TRACE_LOOP ? PTRC_LOG_RING : PTRC_LOG_SEQUENTIAL;
	w->limit = header->attr.log_max_size;
	if (w->limit < PTRC_ATTR_LOG_SIZE_FLOOR)
		w->limit = PTRC_ATTR_LOG_SIZE_FLOOR;
	if (w->policy == POSIX_TRACE_APPEND || w->limit > INT64_MAX)
		w->limit = INT64_MAX;
	w->skip_ns = INT64_MIN;
	if (w->kind == PTRC_LOG_RING) {
		w->ring_size = ring_size_for(w->limit);
		if (w->limit > w->ring_size)
			w->limit = w->ring_size;
	}
	w->batch.most =
		w->policy == POSIX_TRACE_UNTIL_FULL ? w->limit - PTRC_LOG_STOP_BYTES : w->limit;
	ptrc_log_reserve_close(w);
	if (ptrc_attr_rotates(&header->attr) && header->has_log && w->is_regular &&
	    w->policy == POSIX_TRACE_APPEND) {
		w->rotate_bytes = header->attr.log_rotate_bytes;
		w->rotate_ns = header->attr.log_rotate_ns;
		w->keep = header->attr.log_keep;
	}
	w->state.flags = PTRC_LOG_STATE_AFTER_STOP;
	if (!is_restart || !ptrc_log_state_load(w))
		return 0;
	w->state.flags |= PTRC_LOG_STATE_FILTER_UNKNOWN;
	ptrc_log_index_begin(w, true);
	if (w->kind == PTRC_LOG_RING) {
		if (w->state.offset > w->ring_size)
			w->state.offset = w->ring_size;
		return ptrc_log_ring_restore(w);
	}
	if (w->is_regular && w->state.offset > (uint64_t)st.st_size) {
		w->state.offset = (uint64_t)st.st_size;
		w->state.flags |= PTRC_LOG_STATE_CUT;
	}
	w->file_end = w->is_regular ? w->state.offset : 0;
	/* The keeper before may have died in the middle of a packet. */
	if (w->is_regular && (uint64_t)st.st_size > w->state.offset)
		ptrc_sys(SYS_ftruncate, fd, w->state.offset);
	return 0;
}

void ptrc_log_writer_free(struct ptrc_log_writer *w)
{
	ptrc_log_buffer_free(&w->out);
	ptrc_log_buffer_free(&w->held);
	ptrc_log_buffer_free(&w->held_next);
	ptrc_log_buffer_free(&w->lap);
	ptrc_log_batch_free(&w->batch);
	ptrc_log_index_free(&w->index);
	ptrc_log_processes_free(&w->processes);
	ptrc_log_threads_free(&w->threads);
}

/* Tells the reader of a pipe, by a hidden FILTER event, that the filter is empty from now on.
 * What was written before stays. */
static int write_clear(struct ptrc_log_writer *w, int64_t now_ns)
{
	static const trace_event_set_t sets[2] = {{.__posix_trace_magic = PTRC_SET_MAGIC},
						  {.__posix_trace_magic = PTRC_SET_MAGIC}};

	return ptrc_log_events_write_single(w, now_ns, 0, POSIX_TRACE_FILTER | PTRC_REC_HIDDEN,
					    sets, sizeof(sets));
}

int ptrc_log_writer_clear(struct ptrc_log_writer *w, int64_t now_ns)
{
	int error;

	w->skip_ns = INT64_MIN;
	w->has_retry = false;
	if (w->is_regular) {
		error = ptrc_log_writer_head(w);
		return error ? error : ptrc_log_names_write(w, w->names);
	}
	/* A pipe whose reader is gone cannot be written: nobody misses anything. */
	error = write_clear(w, now_ns);
	if (!error) {
		w->state.events = w->state.bytes = w->state.lost_events = 0;
		ptrc_log_state_save(w);
	}
	return error == ENOMEM ? error : 0;
}

/* How much more a count has become, which others can write. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Writes STATUS, with these flags, and END to the same place each time, and with_index before them the
 * index. */
static int write_end(struct ptrc_log_writer *w, uint16_t flags, bool with_index)
{
	uint64_t bits = ptrc_load_acquire(&w->header->status);
	uint64_t lost = since(ptrc_load_relaxed(&w->header->lost_events), w->state.lost_before);
	uint64_t needed = ptrc_load_relaxed(&w->header->data_needed);
	/* What was lost before is told by the head of this file. */
	bool has_lost = (bits & PTRC_ST_EVER_OVERRUN) && (w->state.ordinal == 0 || lost);
	struct ptrc_log_status status = {
		.stream_status = POSIX_TRACE_SUSPENDED,
		.stream_full = bits & PTRC_ST_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL,
		.stream_overrun = has_lost ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN,
		.flush_status = POSIX_TRACE_NOT_FLUSHING,
		.flush_error = (uint32_t)(bits >> PTRC_ST_ERROR_SHIFT),
		.log_overrun = bits & PTRC_ST_EVER_LOG_OVERRUN ? POSIX_TRACE_OVERRUN
							       : POSIX_TRACE_NO_OVERRUN,
		.log_full = bits & PTRC_ST_LOG_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL,
		.lost_events = lost,
		.log_lost_events = w->state.lost_events + w->state.overwritten_events,
		.log_events = w->state.events,
		.log_bytes = w->state.bytes,
		.flags = flags,
		.data_needed = needed < UINT32_MAX ? (uint32_t)needed : UINT32_MAX,
		.source_damaged_parts = w->source_damaged_parts,
		.source_damaged_events = w->source_damaged_events,
		.missed_events =
			bits >> PTRC_ST_ERROR_SHIFT ? w->unwritten_events : w->source_missed_events,
		.waits = since(ptrc_load_relaxed(&w->header->waits), w->state.waits_before),
		.wait_ns = since(ptrc_load_relaxed(&w->header->wait_ns), w->state.wait_ns_before),
	};
	struct ptrc_untraced untraced = w->source_untraced;
	int error;

	if (w->dirfd >= 0)
		ptrc_untraced_count(w->dirfd, w->header->id, &untraced);
	status.untraced_processes = untraced.processes;
	status.untraced_error = (uint32_t)untraced.error;
	status.refused_names = w->source_refused_names;
	if (w->names)
		status.refused_names += (uint32_t)ptrc_names_count_refused(w->names->refused_seen);
	status.names = ptrc_log_names_count(w);
	w->close_reserve = 0;
	ptrc_log_buffer_clear(&w->out);
	if (with_index)
		status.index_offset = ptrc_log_index_end(w);
	error = ptrc_log_packet_put(w, PTRC_LOG_STATUS, &status, sizeof(status));
	if (!error)
		error = ptrc_log_packet_put(w, PTRC_LOG_END, NULL, 0);
	if (error)
		return error;
	return ptrc_log_write_at(w, w->kind == PTRC_LOG_RING ? PTRC_LOG_CLOSE_OFFSET
							     : w->state.offset);
}

/* The same after a CLOCK packet. *with_index: the log has got its index. */
static int write_whole_end(struct ptrc_log_writer *w, uint16_t flags, bool *with_index)
{
	int error;

	ptrc_log_clock_write(w, PTRC_LOG_CLOCK_NOW);
	*with_index = !w->index.is_lost;
	error = write_end(w, flags, *with_index);
	/* Maybe there is only room for the end itself. */
	if (error && *with_index) {
		*with_index = false;
		error = write_end(w, flags, false);
	}
	return error;
}

int ptrc_log_writer_end(struct ptrc_log_writer *w)
{
	bool with_index;

	return write_whole_end(w, PTRC_LOG_GOES_ON, &with_index);
}

int ptrc_log_writer_close(struct ptrc_log_writer *w)
{
	const uint16_t flags = w->is_source_uncounted ? PTRC_LOG_SOURCE_UNCOUNTED : 0;
	bool with_index;
	int error = write_whole_end(w, flags, &with_index), again;

	if (error)
		return error;
	error = ptrc_log_sync(w);
	if (!error)
		return 0;
	ptrc_status_error(w->header, error);
	/* What the file has now can be read from memory as long as the machine runs. */
	again = write_end(w, flags, with_index);
	(void)again; /* the first error counts */
	return error;
}
