/* SPDX-License-Identifier: MIT */
/*
 * A log opened for reading, which the standard calls a pre-recorded stream. The public functions
 * that take both kinds of stream call these for a PTRC_HANDLE_LOG.
 */
#ifndef PTRC_LIB_LOG_LOG_STREAM_H
#define PTRC_LIB_LOG_LOG_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trace.h>

#include "include/posixtrace-private.h"
#include "lib/model/names.h"

struct ptrc_layout_fields;
struct ptrc_log_stream;
struct ptrc_log_whose;

/* Opens the files of a log as ptrc_log_reader_open_all() does, but first waits for a keeper that
 * finishes it. */
int ptrc_log_stream_open_all(const int *fds, size_t count, bool is_whole,
			     struct ptrc_log_stream **l);
void ptrc_log_stream_close(struct ptrc_log_stream *l);
/* As the public functions. */
int ptrc_log_stream_refresh(struct ptrc_log_stream *l, uint64_t first);
int ptrc_log_stream_begin(const void *bytes, size_t size, struct ptrc_log_stream **l);
int ptrc_log_stream_feed(struct ptrc_log_stream *l, const void *bytes, size_t size,
			 int *is_complete);

/* Any thread may call the following at any time. */

/* EINVAL: the log comes in parts. */
int ptrc_log_stream_rewind(struct ptrc_log_stream *l);
void ptrc_log_stream_attr(struct ptrc_log_stream *l, trace_attr_t *attr);
void ptrc_log_stream_status(struct ptrc_log_stream *l, struct posix_trace_status_info *st);
int ptrc_log_stream_name(struct ptrc_log_stream *l, trace_event_id_t id, char *name);
/* EINVAL: no type of the log. ENODATA: it has no layout. _fields also: EBADMSG: the layout is
 * invalid; ENOMEM. The fields are valid until the log is closed. */
int ptrc_log_stream_layout(struct ptrc_log_stream *l, trace_event_id_t id,
			   char layout[PTRC_NAMES_LAYOUT_BYTES]);
int ptrc_log_stream_fields(struct ptrc_log_stream *l, trace_event_id_t id,
			   const struct ptrc_layout_fields **fields);
int ptrc_log_stream_next_id(struct ptrc_log_stream *l, trace_event_id_t *id, int *unavailable);
void ptrc_log_stream_rewind_ids(struct ptrc_log_stream *l);
/* As posix_trace_getnext_event(). */
int ptrc_log_stream_getnext(struct ptrc_log_stream *l, struct posix_trace_event_info *event,
			    void *data, size_t num_bytes, size_t *data_len, int *unavailable);
/* As posixtrace_log_next_block(). ENOMEM. */
int ptrc_log_stream_getnext_block(struct ptrc_log_stream *l, struct posixtrace_block **block);
/* The log of the block may be closed. */
void ptrc_log_stream_free_block(struct posixtrace_block *block);

/* Goes back to the start, and from then on skips packets without an event in a span or of these
 * types. 0 spans: all times; NULL: all types. EINVAL: the log comes in parts. ENOMEM. */
int ptrc_log_stream_select(struct ptrc_log_stream *l, const struct posixtrace_span *spans,
			   size_t count, const trace_event_set_t *types);
/* As the public functions. EINVAL: the log comes in parts. */
int ptrc_log_stream_select_parts(struct ptrc_log_stream *l, uint64_t first, uint64_t end);
void ptrc_log_stream_place(struct ptrc_log_stream *l, struct ptrc_reading_place *place);
/* Finds a time from which on the log has at least `count` events, by the headers of its packets.
 * ENODATA: it has fewer. */
int ptrc_log_stream_time_of_last(struct ptrc_log_stream *l, uint64_t count, int64_t *ns);
/* As ptrc_log_verify(). */
int ptrc_log_stream_verify(struct ptrc_log_stream *l, uint64_t *differing);
/* ENODATA: the counts are known only from reading the log. */
int ptrc_log_stream_totals(struct ptrc_log_stream *l, struct posixtrace_type_count *counts,
			   size_t count);
/* The origins of the log's events; of a log in parts, valid until the next part. */
const struct ptrc_log_whose *ptrc_log_stream_whose(struct ptrc_log_stream *l);
void ptrc_log_stream_counts(struct ptrc_log_stream *l, struct ptrc_counts *counts);

#endif
