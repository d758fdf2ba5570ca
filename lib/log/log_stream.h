/* SPDX-License-Identifier: MIT */
/*
 * A log opened for reading (a pre-recorded stream): the object behind a PTRC_HANDLE_LOG.
 * The public functions that serve both kinds of stream (get_attr, get_status, get_name,
 * event type list, getnext) call these.
 */
#ifndef PTRC_LIB_LOG_LOG_STREAM_H
#define PTRC_LIB_LOG_LOG_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <trace.h>

struct ptrc_log_stream;

/* One event in report order; EVENT-independent of any buffer of the caller. */
struct ptrc_event_view {
	struct posix_trace_event_info info; /* truncation as recorded */
	const void *data;		    /* valid until the next call on the stream */
	uint32_t len;
};

/* fd is duplicated. EINVAL: no log, not readable, not seekable. ENOMEM. */
int ptrc_log_stream_open(int fd, struct ptrc_log_stream **l);
void ptrc_log_stream_close(struct ptrc_log_stream *l);
/* Each is thread-safe (a mutex of the object). */
void ptrc_log_stream_rewind(struct ptrc_log_stream *l);
void ptrc_log_stream_attr(struct ptrc_log_stream *l, trace_attr_t *attr);
void ptrc_log_stream_status(struct ptrc_log_stream *l,
			    struct posix_trace_status_info *st);
int ptrc_log_stream_name(struct ptrc_log_stream *l, trace_event_id_t id, char *name);
int ptrc_log_stream_next_id(struct ptrc_log_stream *l, trace_event_id_t *id,
			    int *unavailable);
void ptrc_log_stream_rewind_ids(struct ptrc_log_stream *l);
/* The next event copied out as posix_trace_getnext_event says (GETNEXT-08, -20 to -24). */
int ptrc_log_stream_getnext(struct ptrc_log_stream *l,
			    struct posix_trace_event_info *event, void *data,
			    size_t num_bytes, size_t *data_len, int *unavailable);
struct posixtrace_counts;
void ptrc_log_stream_counts(struct ptrc_log_stream *l, struct posixtrace_counts *counts);

#endif
