/* SPDX-License-Identifier: MIT */
/*
 * A log opened for reading, which the standard calls a pre-recorded stream. Many public functions
 * take both kinds of stream, active and pre-recorded; for a pre-recorded one they call the
 * functions here.
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

/* Whether the stream of this log still exists although its controller and its keeper are dead. Stores its identifier,
 * and the user in whose directory it is. False if that is unknown. */
PTRC_MUST_CHECK bool ptrc_log_stream_is_left(int fd, uint64_t *id, uid_t *user);

/* Opens the files of a log as ptrc_log_reader_open_all() does. If a keeper is finishing the log,
 * first waits for it. */
int ptrc_log_stream_open_all(const int *fds, size_t count, bool is_whole,
			     struct ptrc_log_stream **l);
/* Called after all files of the log at the path were opened. If the last one says that another follows, looks for that
 * file: it may have been begun meanwhile. Then it is not missing, but the log has no end. */
void ptrc_log_stream_look_for_next(struct ptrc_log_stream *l, const char *path);
void ptrc_log_stream_close(struct ptrc_log_stream *l);
/* These implement ptrc_log_refresh(), ptrc_log_open_parts() and ptrc_log_add_part() of
 * posixtrace-private.h. */
int ptrc_log_stream_refresh(struct ptrc_log_stream *l, uint64_t first);
int ptrc_log_stream_begin(const void *bytes, size_t size, struct ptrc_log_stream **l);
int ptrc_log_stream_feed(struct ptrc_log_stream *l, const void *bytes, size_t size,
			 int *is_complete);

/* Several threads may call the functions below for the same log at the same time. */

/* Goes back to the first event. EINVAL: the log comes in parts. */
int ptrc_log_stream_rewind(struct ptrc_log_stream *l);
void ptrc_log_stream_attr(struct ptrc_log_stream *l, trace_attr_t *attr);
void ptrc_log_stream_status(struct ptrc_log_stream *l, struct posix_trace_status_info *st);
int ptrc_log_stream_name(struct ptrc_log_stream *l, trace_event_id_t id, char *name);
/* EINVAL: the log has no such type. ENODATA: the type has no layout. ptrc_log_stream_fields() also:
 * EBADMSG: the layout is invalid; ENOMEM. The fields are valid until the log is closed. */
int ptrc_log_stream_layout(struct ptrc_log_stream *l, trace_event_id_t id,
			   char layout[PTRC_NAMES_LAYOUT_BYTES]);
int ptrc_log_stream_fields(struct ptrc_log_stream *l, trace_event_id_t id,
			   const struct ptrc_layout_fields **fields);
int ptrc_log_stream_next_id(struct ptrc_log_stream *l, trace_event_id_t *id, int *unavailable);
void ptrc_log_stream_rewind_ids(struct ptrc_log_stream *l);
/* Implements posix_trace_getnext_event() for a log. */
int ptrc_log_stream_getnext(struct ptrc_log_stream *l, struct posix_trace_event_info *event,
			    void *data, size_t num_bytes, size_t *data_len, int *unavailable);
/* Implements posixtrace_log_next_block(). ENOMEM. */
int ptrc_log_stream_getnext_block(struct ptrc_log_stream *l, struct posixtrace_block **block);
/* Frees a block; its log may have been closed before. */
void ptrc_log_stream_free_block(struct posixtrace_block *block);

/* Goes back to the start. From then on skips each packet that has no event within the time spans,
 * or no event of these types. If count is 0, all times are selected; if types is NULL, all types.
 * Implements ptrc_log_select(). EINVAL: the log comes in parts. ENOMEM. */
int ptrc_log_stream_select(struct ptrc_log_stream *l, const struct posixtrace_span *spans,
			   size_t count, const trace_event_set_t *types,
			   const trace_event_set_t *always);
/* These implement ptrc_log_select_parts() and ptrc_log_get_place(). EINVAL: the log comes in parts,
 * or ptrc_log_stream_refresh() has dropped the packet with the number `first`. ENOMEM. */
int ptrc_log_stream_select_parts(struct ptrc_log_stream *l, uint64_t first, uint64_t end);
void ptrc_log_stream_place(struct ptrc_log_stream *l, struct ptrc_reading_place *place);
/* Implements ptrc_log_find_file(). */
int ptrc_log_stream_find_file(const struct ptrc_log_stream *l, int fd);
/* Finds a time from which on the log has at least `count` events, by the headers of its packets.
 * ENODATA: the log has fewer. */
int ptrc_log_stream_time_of_last(struct ptrc_log_stream *l, uint64_t count, int64_t *ns);
/* Implements ptrc_log_verify(). */
int ptrc_log_stream_verify(struct ptrc_log_stream *l, uint64_t *differing);
/* Stores the counts of events by type, from TOTALS. ENODATA: only reading the whole log would show
 * the counts. */
int ptrc_log_stream_totals(struct ptrc_log_stream *l, struct posixtrace_type_count *counts,
			   size_t count);
/* The origins of the log's events: machine, clocks, processes and threads. For a log in parts, they
 * are valid until the next part. */
const struct ptrc_log_whose *ptrc_log_stream_whose(struct ptrc_log_stream *l);
void ptrc_log_stream_counts(struct ptrc_log_stream *l, struct ptrc_counts *counts);

#endif
