/* SPDX-License-Identifier: MIT */
/*
 * A log opened for reading, which the standard calls a pre-recorded stream. The public
 * functions that take both kinds of stream call these for a PTRC_HANDLE_LOG.
 */
#ifndef PTRC_LIB_LOG_LOG_STREAM_H
#define PTRC_LIB_LOG_LOG_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <trace.h>

struct ptrc_log_stream;

/* The log gets a descriptor of its own. EINVAL: no log, or not open for reading. ENOMEM. */
int ptrc_log_stream_open(int fd, struct ptrc_log_stream **l);
void ptrc_log_stream_close(struct ptrc_log_stream *l);

/* The object has a mutex: any thread may call these at any time. */

void ptrc_log_stream_rewind(struct ptrc_log_stream *l);
void ptrc_log_stream_attr(struct ptrc_log_stream *l, trace_attr_t *attr);
void ptrc_log_stream_status(struct ptrc_log_stream *l, struct posix_trace_status_info *st);
int ptrc_log_stream_name(struct ptrc_log_stream *l, trace_event_id_t id, char *name);
int ptrc_log_stream_next_id(struct ptrc_log_stream *l, trace_event_id_t *id, int *unavailable);
void ptrc_log_stream_rewind_ids(struct ptrc_log_stream *l);
/* Copies the next event as posix_trace_getnext_event() does. */
int ptrc_log_stream_getnext(struct ptrc_log_stream *l, struct posix_trace_event_info *event,
			    void *data, size_t num_bytes, size_t *data_len, int *unavailable);
struct posixtrace_counts;
void ptrc_log_stream_counts(struct ptrc_log_stream *l, struct posixtrace_counts *counts);

#endif
