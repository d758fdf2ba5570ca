/* SPDX-License-Identifier: MIT */
#include "lib/log/log_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"
#include "lib/model/eventset.h"
#include "lib/stream/clock.h"
#include "lib/stream/status.h"
#include "lib/stream/untraced.h"

/* The device number of /dev/null: major 1, minor 3. makedev() is in the C library, which the keeper
 * does not have. */
#define NULL_DEVICE 0x103

/* ---- head ---- */

/* Sets w->state for a file without events. In a rotated log, the numbers, the filter and some flags
 * continue from the previous file. */
static void begin_state(struct ptrc_log_writer *w)
{
	struct ptrc_log_state old = w->state, *s = &w->state;

	*s = (struct ptrc_log_state){.flags = PTRC_LOG_STATE_AFTER_STOP,
				     .member = old.member,
				     .oldest = old.oldest,
				     .begun_ns = ptrc_clock_ns(CLOCK_BOOTTIME)};
	if (old.past.ordinal == 0)
		return;
	s->flags = old.flags & (PTRC_LOG_STATE_AFTER_STOP | PTRC_LOG_STATE_FILTER_UNKNOWN |
				PTRC_LOG_STATE_MARKERS_WAIT);
	s->seq = old.past.first_seq;
	s->past = old.past;
	memcpy(s->filter, old.filter, sizeof(s->filter));
}

int ptrc_log_writer_head(struct ptrc_log_writer *w)
{
	const struct ptrc_stream_header *h = w->header;
	const struct ptrc_log_past *past = &w->state.past;
	const struct ptrc_attr *a = w->trace.attr;
	struct ptrc_log_prefix prefix = ptrc_log_prefix();
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
		.ordinal = past->ordinal,
		.first_seq = past->first_seq,
		.events_before = past->events,
		.before = past->before,
		.target_pid = w->trace.target_pid,
		.controller_pid = w->trace.controller_pid,
		.owner_uid = w->trace.owner_uid,
		.stream_id = w->trace.id,
	};
	int error = 0;

	head.before.is_overrun =
		past->ordinal && (ptrc_load_acquire(&h->status) & PTRC_ST_EVER_OVERRUN);
	memcpy(head.name, a->name, sizeof(head.name));
	memcpy(head.genversion, a->genversion, sizeof(head.genversion));
	head.name[sizeof(head.name) - 1] = head.genversion[sizeof(head.genversion) - 1] = '\0';
	if (w->kind == PTRC_LOG_RING) {
		head.close_offset = PTRC_LOG_CLOSE_OFFSET;
		head.ring_offset = PTRC_LOG_RING_OFFSET;
		head.ring_size = w->ring_size;
	}
	begin_state(w);
	w->close_reserve = PTRC_LOG_CLOSE_BYTES;
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
	ptrc_log_origin_begin(w);
	ptrc_log_state_save(w);
	return 0;
}

/* ---- begin, clear, end ---- */

int ptrc_log_writer_begin(struct ptrc_log_writer *w, const struct ptrc_log_trace *trace, int policy,
			  int fd)
{
	struct stat st = {.st_size = 0};
	long flags = 0;

	memset(w, 0, sizeof(*w));
	w->trace = *trace;
	w->fd = fd;
	w->dirfd = -1;
	w->policy = policy;
	if (fd >= 0)
		flags = ptrc_sys(SYS_fcntl, fd, F_GETFL);
	if (flags < 0 || (fd >= 0 && ptrc_sys(SYS_fstat, fd, &st) < 0))
		return EINVAL;
	w->is_regular = S_ISREG(st.st_mode);
	w->is_socket = S_ISSOCK(st.st_mode);
	w->keeps_nothing = S_ISCHR(st.st_mode) && st.st_rdev == NULL_DEVICE;
	w->must_not_append = w->is_regular && (flags & O_APPEND);
	w->kind = w->policy == POSIX_TRACE_LOOP ? PTRC_LOG_RING : PTRC_LOG_SEQUENTIAL;
	w->limit = trace->attr->log_max_size;
	if (w->limit < PTRC_ATTR_LOG_SIZE_FLOOR)
		w->limit = PTRC_ATTR_LOG_SIZE_FLOOR;
	if (w->policy == POSIX_TRACE_APPEND || w->limit > INT64_MAX)
		w->limit = INT64_MAX;
	w->skip_ns = INT64_MIN;
	if (w->kind == PTRC_LOG_RING) {
		uint64_t bytes = ptrc_log_at_most(w->limit, UINT64_C(1) << 60);

		/* Besides the events, the ring has room for the headers of packets and sections,
		 * and for the bytes at its end that stay unused when the next packet goes to its
		 * start. */
		w->ring_size = ptrc_align8(bytes + bytes / 16 + 16384);
		w->limit = ptrc_log_at_most(w->limit, w->ring_size);
	}
	w->batch.most =
		w->policy == POSIX_TRACE_UNTIL_FULL ? w->limit - PTRC_LOG_STOP_BYTES : w->limit;
	w->close_reserve = PTRC_LOG_CLOSE_BYTES;
	w->state.flags = PTRC_LOG_STATE_AFTER_STOP;
	return 0;
}

/* Continues the log of an earlier keeper, whose saved state is in w->state. */
static int restart(struct ptrc_log_writer *w)
{
	struct ptrc_log_state *s = &w->state;
	struct stat st = {.st_size = 0};
	uint64_t size, end;

	s->flags |= PTRC_LOG_STATE_FILTER_UNKNOWN;
	ptrc_log_index_begin(w, true);
	if (w->is_regular && ptrc_sys(SYS_fstat, w->fd, &st) < 0)
		return EINVAL;
	size = (uint64_t)st.st_size;
	if (w->kind == PTRC_LOG_RING) {
		if (s->offset > w->ring_size)
			s->offset = w->ring_size;
		/* Cuts off the packets after the ring that are newer than the saved state:
		 * a rest of them would be taken for damage. */
		end = PTRC_LOG_RING_OFFSET + w->ring_size + s->tail;
		if (s->tail < size && end < size)
			ptrc_sys(SYS_ftruncate, w->fd, end);
		return ptrc_log_ring_restore(w);
	}
	if (!w->is_regular)
		return 0;
	if (s->offset > size) {
		s->offset = size;
		s->flags |= PTRC_LOG_STATE_CUT;
	}
	w->file_end = s->offset;
	/* If the earlier keeper died while it wrote a packet, cuts the rest of that packet off. */
	if (size > s->offset)
		ptrc_sys(SYS_ftruncate, w->fd, s->offset);
	return 0;
}

int ptrc_log_writer_init(struct ptrc_log_writer *w, struct ptrc_stream_header *header, int fd,
			 bool is_restart)
{
	const struct ptrc_attr *a = &header->attr;
	const struct ptrc_log_trace trace = {.id = header->id,
					     .attr = a,
					     .target_pid = header->target_pid,
					     .controller_pid = header->controller_pid,
					     .owner_uid = header->owner_uid};
	/* If the stream was created without a log, and its events go into one only because its
	 * controller died, that log has no size limit. */
	int policy = header->has_log ? a->log_full_policy : POSIX_TRACE_APPEND;
	int error = ptrc_log_writer_begin(w, &trace, policy, fd);

	if (error)
		return error;
	w->header = header;
	w->origin = header;
	w->place = ptrc_log_state_place(header);
	if (ptrc_attr_rotates(a) && header->has_log && w->is_regular &&
	    policy == POSIX_TRACE_APPEND) {
		w->rotate_bytes = a->log_rotate_bytes;
		w->rotate_ns = a->log_rotate_ns;
		w->keep = a->log_keep;
	}
	return is_restart && ptrc_log_state_read(header, &w->state) ? restart(w) : 0;
}

void ptrc_log_writer_free(struct ptrc_log_writer *w)
{
	ptrc_log_buffer_free(&w->out);
	ptrc_log_buffer_free(&w->held);
	ptrc_log_buffer_free(&w->held_next);
	ptrc_log_buffer_free(&w->lap);
	ptrc_log_batch_free(&w->batch);
	ptrc_log_batch_free(&w->observed);
	ptrc_log_index_free(&w->index);
	ptrc_log_origin_free(&w->origins);
}

int ptrc_log_writer_clear(struct ptrc_log_writer *w, int64_t now_ns)
{
	static const trace_event_set_t sets[2] = {{.__posix_trace_magic = PTRC_SET_MAGIC},
						  {.__posix_trace_magic = PTRC_SET_MAGIC}};
	int error;

	w->skip_ns = INT64_MIN;
	w->has_retry = false;
	if (w->is_regular)
		return ptrc_log_writer_head(w) ?: ptrc_log_names_write(w);
	/* An error of the write is ignored: if the pipe has no reader, no reader misses the
	 * event. */
	error = ptrc_log_events_write_single(w, (struct ptrc_log_section){.base_ns = now_ns},
					     POSIX_TRACE_FILTER | PTRC_REC_HIDDEN, sets,
					     sizeof(sets));
	if (!error) {
		w->state.events = w->state.bytes = w->state.lost_events = 0;
		memset(w->state.filter, 0, sizeof(w->state.filter));
		w->state.flags &= ~PTRC_LOG_STATE_FILTER_UNKNOWN;
		ptrc_log_state_save(w);
	}
	return error == ENOMEM ? error : 0;
}

/* The increase of a count in shared memory. 0 if it has decreased, which only another program can
 * cause. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* The status of a keeper's log, from the header of its stream. */
static struct ptrc_log_status status_of(const struct ptrc_log_writer *w)
{
	const struct ptrc_stream_header *h = w->header;
	const struct ptrc_log_past *past = &w->state.past;
	uint64_t bits = ptrc_load_acquire(&h->status);
	uint64_t lost = since(ptrc_load_relaxed(&h->lost_events), past->before.lost_events);
	struct ptrc_untraced untraced = {0};

	if (w->dirfd >= 0)
		ptrc_untraced_count(w->dirfd, h, &untraced);
	return (struct ptrc_log_status){
		.stream_full = bits & PTRC_ST_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL,
		/* The head of this file says whether events were lost before this file was
		 * begun. */
		.stream_overrun = (bits & PTRC_ST_EVER_OVERRUN) && (past->ordinal == 0 || lost)
					  ? POSIX_TRACE_OVERRUN
					  : POSIX_TRACE_NO_OVERRUN,
		.flush_error = (uint32_t)(bits >> PTRC_ST_ERROR_SHIFT),
		.log_overrun = bits & PTRC_ST_EVER_LOG_OVERRUN ? POSIX_TRACE_OVERRUN
							       : POSIX_TRACE_NO_OVERRUN,
		.log_full = bits & PTRC_ST_LOG_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL,
		.lost_events = lost,
		.unobserved_events =
			(uint32_t)ptrc_log_at_most(since(ptrc_load_relaxed(&h->unobserved_events),
							 past->before.unobserved_events),
						   UINT32_MAX),
		.log_lost_events = w->state.lost_events + w->state.ring.lost_events,
		.untraced_processes = untraced.processes,
		.untraced_error = (uint16_t)untraced.error,
		.untraced_versions = (uint16_t)untraced.versions,
		.refused_names =
			w->names ? (uint32_t)ptrc_names_count_refused(w->names->refused_seen) : 0,
		.data_needed =
			(uint32_t)ptrc_log_at_most(ptrc_load_relaxed(&h->data_needed), UINT32_MAX),
		.missed_events = bits >> PTRC_ST_ERROR_SHIFT ? w->unwritten_events : 0,
		.waits = since(ptrc_load_relaxed(&h->waits), past->before.waits),
		.wait_ns = since(ptrc_load_relaxed(&h->wait_ns), past->before.wait_ns),
	};
}

int ptrc_log_writer_put_status(struct ptrc_log_writer *w, struct ptrc_log_status status,
			       bool is_end)
{
	int error;

	status.stream_status = is_end ? POSIX_TRACE_SUSPENDED : POSIX_TRACE_RUNNING;
	status.log_events = w->state.events;
	status.log_bytes = w->state.bytes;
	error = ptrc_log_packet_put(w, PTRC_LOG_STATUS, &status, sizeof(status));
	return error || !is_end ? error : ptrc_log_packet_put(w, PTRC_LOG_END, NULL, 0);
}

/* Writes STATUS and END, and before them the rest of the index if with_index is set. A second call
 * writes to the same offset. */
static int write_end(struct ptrc_log_writer *w, struct ptrc_log_status status, bool with_index)
{
	int error;

	w->close_reserve = 0;
	ptrc_log_buffer_clear(&w->out);
	if (with_index)
		status.index_offset = ptrc_log_index_end(w);
	status.names = (uint32_t)ptrc_log_names_count(w);
	error = ptrc_log_writer_put_status(w, status, true);
	if (error)
		return error;
	return ptrc_log_write_at(w, w->kind == PTRC_LOG_RING ? PTRC_LOG_CLOSE_OFFSET
							     : w->state.offset);
}

/* Writes a CLOCK packet, then the end of the log as write_end() does. *with_index becomes whether
 * the log got an index. */
static int write_whole_end(struct ptrc_log_writer *w, const struct ptrc_log_status *status,
			   bool *with_index)
{
	int error;

	ptrc_log_origin_clock(w, false);
	*with_index = !w->index.is_lost;
	error = write_end(w, *status, *with_index);
	/* A full disk may have room for STATUS and END only: try without the index. */
	if (error && *with_index) {
		*with_index = false;
		error = write_end(w, *status, false);
	}
	return error;
}

int ptrc_log_writer_end(struct ptrc_log_writer *w)
{
	struct ptrc_log_status status = status_of(w);
	bool with_index;

	status.flags = PTRC_LOG_GOES_ON;
	return write_whole_end(w, &status, &with_index);
}

int ptrc_log_writer_close(struct ptrc_log_writer *w, const struct ptrc_log_status *losses)
{
	struct ptrc_log_status status;
	bool with_index;
	int error;

	/* The last flush may have failed, and saved no state. */
	ptrc_log_state_tell(w);
	status = losses ? *losses : status_of(w);
	error = write_whole_end(w, &status, &with_index);
	if (error)
		return error;
	error = ptrc_log_sync(w);
	if (!error)
		return 0;
	if (w->header)
		ptrc_status_error(w->header, error);
	if (!status.flush_error) {
		status.flush_error = (uint32_t)error;
		status.missed_events = w->unwritten_events;
	}
	/* Writes STATUS again, now with the error: though the file is not on its disk, it can be
	 * read from memory as long as the machine runs. The error of ptrc_log_sync() is
	 * returned. */
	write_end(w, status, with_index);
	return error;
}
