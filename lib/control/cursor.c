/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/control/cursor.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/base/file.h"
#include "lib/control/controller.h"
#include "lib/log/log_copy.h"
#include "lib/stream/live_reader.h"
#include "lib/stream/stream_copy.h"

/* While the keeper commits a flush, what was missed cannot be counted. The call looks again at
 * these intervals, so often at most. */
#define COUNT_PAUSE_NS 500000
#define COUNT_TRIES 200

struct posixtrace_cursor {
	trace_id_t stream;
	/* Of a snapshot of a LOOP stream: what the reader reads, with what the copy lacks. */
	struct ptrc_stream_copy copy;
	/* Refers to the copy, if there is one. Else to the stream of the controller: valid only as long as
	 * that has the identifier. */
	struct ptrc_live_reader reader;
	struct posixtrace_log_writer *log; /* of the parts; null: none was read yet */
};

/* Begins to read, with reader_lock held. 0 or ENOMEM. */
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

int ptrc_cursor_open(trace_id_t stream, bool is_snapshot, struct posixtrace_cursor **cursor)
{
	struct posixtrace_cursor *new = calloc(1, sizeof(*new));
	struct ptrc_controller *c;
	int cancel_state;
	int error;

	if (!new)
		return ENOMEM;
	c = ptrc_controller_enter(stream, &cancel_state);
	if (!c) {
		free(new);
		return EINVAL;
	}
	new->stream = stream;
	/* All readers of a process pin chunks by the same bit, so they take turns. */
	pthread_mutex_lock(&c->reader_lock);
	error = begin(new, &c->stream, is_snapshot);
	pthread_mutex_unlock(&c->reader_lock);
	ptrc_controller_leave(stream, cancel_state);
	if (!error) {
		*cursor = new;
	} else {
		ptrc_live_reader_destroy(&new->reader);
		ptrc_stream_copy_free(&new->copy);
		free(new);
	}
	return error;
}

int ptrc_cursor_next(struct posixtrace_cursor *cursor, const struct ptrc_next_result *out)
{
	struct ptrc_live_event e;
	int cancel_state;
	int error;
	struct ptrc_controller *c = ptrc_controller_enter(cursor->stream, &cancel_state);

	if (!c)
		return EINVAL;
	pthread_mutex_lock(&c->reader_lock);
	error = ptrc_live_reader_next(&cursor->reader, &e);
	if (!error)
		ptrc_next_deliver(&e, out);
	pthread_mutex_unlock(&c->reader_lock);
	ptrc_controller_leave(cursor->stream, cancel_state);
	return error == ENODATA ? 0 : error;
}

int ptrc_cursor_select(struct posixtrace_cursor *cursor, const trace_event_set_t *types)
{
	int cancel_state;
	struct ptrc_controller *c = ptrc_controller_enter(cursor->stream, &cancel_state);

	if (!c)
		return EINVAL;
	pthread_mutex_lock(&c->reader_lock);
	ptrc_live_reader_select(&cursor->reader, types);
	pthread_mutex_unlock(&c->reader_lock);
	ptrc_controller_leave(cursor->stream, cancel_state);
	return 0;
}

/* Reads events for a part. 0: there may be more; ENODATA: there are none any more; ENOMEM. */
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

int ptrc_cursor_get_part(struct posixtrace_cursor *cursor, struct ptrc_part *part)
{
	struct ptrc_controller *c;
	int cancel_state;
	int error = 0;

	*part = (struct ptrc_part){0};
	c = ptrc_controller_enter(cursor->stream, &cancel_state);
	if (!c)
		return EINVAL;
	if (cursor->log)
		ptrc_log_copy_next_part(cursor->log);
	else
		error = ptrc_log_copy_begin(c->stream.header, c->names->object, &cursor->log);
	if (!error) {
		pthread_mutex_lock(&c->reader_lock);
		error = read_part(cursor, part);
		pthread_mutex_unlock(&c->reader_lock);
		part->pt_is_more = !error;
		if (error == ENODATA)
			error = 0;
	}
	if (!error)
		error = ptrc_log_copy_part(cursor->log, &part->pt_bytes, &part->pt_length);
	ptrc_controller_leave(cursor->stream, cancel_state);
	return error;
}

int ptrc_cursor_end_part(struct posixtrace_cursor *cursor,
			 const struct posix_trace_status_info *status,
			 const struct ptrc_counts *counts, bool is_end, struct ptrc_part *part)
{
	int error;

	*part = (struct ptrc_part){0};
	if (!cursor->log)
		return EINVAL;
	ptrc_log_copy_next_part(cursor->log);
	error = ptrc_log_copy_status(cursor->log, status, counts, is_end);
	if (!error)
		error = ptrc_log_copy_part(cursor->log, &part->pt_bytes, &part->pt_length);
	return error;
}

int ptrc_cursor_missed(struct posixtrace_cursor *cursor, uint64_t *missed)
{
	bool is_exact = false;
	uint64_t count = 0;
	int cancel_state;
	struct ptrc_controller *c = ptrc_controller_enter(cursor->stream, &cancel_state);

	if (!c)
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
	ptrc_controller_leave(cursor->stream, cancel_state);
	return 0;
}

void ptrc_cursor_close(struct posixtrace_cursor *cursor)
{
	int cancel_state;
	struct ptrc_controller *c = ptrc_controller_enter(cursor->stream, &cancel_state);

	/* Without the stream there is no list to leave. */
	if (c) {
		pthread_mutex_lock(&c->reader_lock);
		ptrc_live_reader_unlist(&cursor->reader);
		pthread_mutex_unlock(&c->reader_lock);
		ptrc_controller_leave(cursor->stream, cancel_state);
	}
	ptrc_live_reader_destroy(&cursor->reader);
	ptrc_stream_copy_free(&cursor->copy);
	if (cursor->log)
		ptrc_log_copy_free(cursor->log);
	free(cursor);
}
