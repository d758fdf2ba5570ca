/* SPDX-License-Identifier: MIT */
/*
 * Cursors: positions in an active stream from which events are read without being consumed.
 * <posixtrace-control.h> describes the functions for cursors. posixtrace-private.h describes
 * those that make parts of a log from a cursor.
 */
#include "config.h"

#include <errno.h>
#include <posixtrace-control.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/common.h"
#include "lib/base/file.h"
#include "lib/control/controller.h"
#include "lib/control/next.h"
#include "lib/log/log_copy.h"
#include "lib/model/eventset.h"
#include "lib/stream/live_reader.h"
#include "lib/stream/stream_copy.h"

/* While the keeper takes flushed events out of the stream, missed events cannot be counted. Then
 * posixtrace_cursor_get_missed() counts again, after a pause of COUNT_PAUSE_NS each time, at most
 * COUNT_TRIES times. */
#define COUNT_PAUSE_NS 500000
#define COUNT_TRIES 200

struct posixtrace_cursor {
	trace_id_t stream;
	/* Only for a snapshot of a LOOP stream: a copy of the stream, which the reader reads, and
	 * the number of events that are missing in this copy. */
	struct ptrc_stream_copy copy;
	/* Reads the copy if there is a copy, else the stream of the controller. In the latter
	 * case the reader is valid only while the controller's identifier is valid. */
	struct ptrc_live_reader reader;
	/* The last part may lack events. The last arguments of ptrc_cursor_end_part(), if it was called. */
	int may_lack;
	bool has_status;
	struct posix_trace_status_info status;
	struct ptrc_counts counts;
	/* Writes the parts of a log that ptrc_cursor_get_part() returns; NULL before the first. */
	struct posixtrace_log_writer *log;
};

/* Initialises the cursor's reader. The caller holds reader_lock. Returns 0 or ENOMEM. */
static int begin(struct posixtrace_cursor *cursor, struct ptrc_stream *stream, bool is_snapshot)
{
	uint64_t limit = 0;
	int error = 0;

	if (is_snapshot && stream->header->policy == POSIX_TRACE_LOOP) {
		error = ptrc_stream_copy_make(&cursor->copy, stream);
		if (error)
			return error;
		stream = &cursor->copy.stream;
		limit = cursor->copy.moment;
	}
	error = ptrc_live_reader_init(&cursor->reader, stream, true);
	if (error) {
		ptrc_live_reader_unlist(&cursor->reader);
		return error;
	}
	if (is_snapshot && !limit)
		limit = ptrc_consumer_moment(&cursor->reader.consumer);
	ptrc_live_reader_begin_tee(&cursor->reader, is_snapshot, limit);
	return 0;
}

PTRC_PUBLIC int posixtrace_cursor_open(trace_id_t stream, int flags,
				       struct posixtrace_cursor **cursor)
{
	struct posixtrace_cursor *new;
	int error;
	PTRC_ENTER(c, stream);

	if (!c || !cursor || (flags & ~POSIXTRACE_CURSOR_SNAPSHOT))
		return EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return ENOMEM;
	new->stream = stream;
	/* Only one reader of this process may work at a time. A reader pins a chunk (a piece of the
	 * stream), so that no writer overwrites it, by a bit that all readers share. If two readers
	 * worked at once, the first to finish would remove the pin that the second still needs. */
	PTRC_LOCK(&c->reader_lock);
	error = begin(new, &c->stream, flags & POSIXTRACE_CURSOR_SNAPSHOT);
	if (!error) {
		*cursor = new;
	} else {
		ptrc_live_reader_destroy(&new->reader);
		ptrc_stream_copy_free(&new->copy);
		free(new);
	}
	return error;
}

PTRC_PUBLIC int posixtrace_cursor_trygetnext_event(struct posixtrace_cursor *cursor,
						   struct posix_trace_event_info *event, void *data,
						   size_t num_bytes, size_t *data_len,
						   int *unavailable)
{
	const struct ptrc_next_result out = {event, data, num_bytes, data_len, unavailable};
	int error;
	PTRC_ENTER(c, cursor ? cursor->stream : 0);

	if (unavailable)
		*unavailable = 1;
	if (data_len)
		*data_len = 0;
	if (!c || !event || !data_len || !unavailable || (!data && num_bytes))
		return EINVAL;
	error = ptrc_next_try(c, &cursor->reader, &out);
	return error == ENODATA ? 0 : error;
}

PTRC_PUBLIC int posixtrace_cursor_select(struct posixtrace_cursor *cursor,
					 const trace_event_set_t *types)
{
	PTRC_ENTER(c, cursor ? cursor->stream : 0);

	if (!c || !ptrc_set_is_valid(types))
		return EINVAL;
	PTRC_LOCK(&c->reader_lock);
	ptrc_set_to_bits(types, cursor->reader.wanted);
	cursor->reader.is_selective = true;
	return 0;
}

/* Reads events into the next part of the log. Returns 0 if there may be more events, ENODATA if
 * there are no more, or ENOMEM. */
static int read_part(struct posixtrace_cursor *cursor, struct ptrc_part *part)
{
	struct ptrc_live_event e;
	int error = 0;

	while (!error && !ptrc_log_copy_is_large(cursor->log)) {
		error = ptrc_live_reader_next(&cursor->reader, &e);
		if (!error)
			error = ptrc_log_copy_take(cursor->log, &e);
		if (error)
			break;
		part->pt_events++;
		part->pt_has_gap |= (e.id_flags & PTRC_REC_ID_MASK) == POSIX_TRACE_OVERFLOW;
	}
	return error;
}

/* If the part may lack events and the last one may not, or vice versa, the log says so before the events of the part.
 * Returns 0 or ENOMEM. */
static int put_lack(struct posixtrace_cursor *cursor, int may_lack)
{
	bool is_changed = may_lack != cursor->may_lack;

	cursor->may_lack = may_lack;
	if (!is_changed || !cursor->has_status)
		return 0;
	cursor->status.posix_log_overrun_status =
		may_lack ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	return ptrc_log_copy_status(cursor->log, &cursor->status, &cursor->counts, false);
}

int ptrc_cursor_get_part(struct posixtrace_cursor *cursor, struct ptrc_part *part)
{
	int error = 0;
	PTRC_ENTER(c, cursor->stream);

	*part = (struct ptrc_part){0};
	if (!c)
		return EINVAL;
	if (cursor->log)
		ptrc_log_copy_next_part(cursor->log);
	else
		error = ptrc_log_copy_begin(c->stream.header, c->names->object, &cursor->log);
	if (!error) {
		pthread_mutex_lock(&c->reader_lock);
		error = read_part(cursor, part);
		part->pt_may_lack = ptrc_live_reader_may_lack(&cursor->reader);
		pthread_mutex_unlock(&c->reader_lock);
		part->pt_is_more = !error;
		if (error == ENODATA)
			error = 0;
	}
	return error ?: put_lack(cursor, part->pt_may_lack)
		?: ptrc_log_copy_names(cursor->log)
		?: ptrc_log_copy_part(cursor->log, &part->pt_bytes, &part->pt_length);
}

int ptrc_cursor_end_part(struct posixtrace_cursor *cursor,
			 const struct posix_trace_status_info *status,
			 const struct ptrc_counts *counts, bool is_end, struct ptrc_part *part)
{
	*part = (struct ptrc_part){0};
	if (!cursor->log)
		return EINVAL;
	cursor->has_status = true;
	cursor->status = *status;
	cursor->counts = *counts;
	ptrc_log_copy_next_part(cursor->log);
	return ptrc_log_copy_status(cursor->log, status, counts, is_end)
		       ?: ptrc_log_copy_part(cursor->log, &part->pt_bytes, &part->pt_length);
}

PTRC_PUBLIC int posixtrace_cursor_get_missed(struct posixtrace_cursor *cursor,
					     unsigned long *missed)
{
	bool is_exact = false;
	uint64_t count = 0;
	PTRC_ENTER(c, cursor ? cursor->stream : 0);

	if (!c || !missed)
		return EINVAL;
	for (int i = 0; i < COUNT_TRIES; i++) {
		pthread_mutex_lock(&c->reader_lock);
		is_exact = ptrc_live_reader_missed(&cursor->reader, &count);
		pthread_mutex_unlock(&c->reader_lock);
		if (is_exact)
			break;
		ptrc_file_sleep_ns(COUNT_PAUSE_NS);
	}
	*missed = count + cursor->copy.missed;
	return 0;
}

PTRC_PUBLIC void posixtrace_cursor_close(struct posixtrace_cursor *cursor)
{
	PTRC_ENTER(c, cursor ? cursor->stream : 0);

	if (!cursor)
		return;
	/* If the stream was shut down, its list of readers no longer exists. */
	if (c) {
		PTRC_LOCK(&c->reader_lock);
		ptrc_live_reader_unlist(&cursor->reader);
	}
	ptrc_live_reader_destroy(&cursor->reader);
	ptrc_stream_copy_free(&cursor->copy);
	if (cursor->log)
		ptrc_log_copy_free(cursor->log);
	free(cursor);
}
