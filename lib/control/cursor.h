/* SPDX-License-Identifier: MIT */
/*
 * Cursors: positions in an active stream from which events are read without being consumed.
 * <posixtrace-control.h> describes the functions for cursors. posixtrace-private.h describes
 * those that make parts of a log from a cursor.
 */
#ifndef PTRC_LIB_CONTROL_CURSOR_H
#define PTRC_LIB_CONTROL_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/next.h"

/* Opens a cursor on the stream. EINVAL: there is no active stream with this identifier. ENOMEM. */
int ptrc_cursor_open(trace_id_t stream, bool is_snapshot, struct posixtrace_cursor **cursor);
/* Gets the next event without waiting, like posix_trace_trygetnext_event(). EINVAL: the stream
 * was shut down. ENOMEM. */
int ptrc_cursor_next(struct posixtrace_cursor *cursor, const struct ptrc_next_result *out);
/* Does the work of posixtrace_cursor_select(). EINVAL: the stream was shut down. */
int ptrc_cursor_select(struct posixtrace_cursor *cursor, const trace_event_set_t *types);
/* Does the work of posixtrace_cursor_get_missed(). EINVAL: the stream was shut down. */
int ptrc_cursor_missed(struct posixtrace_cursor *cursor, uint64_t *missed);
void ptrc_cursor_close(struct posixtrace_cursor *cursor);

#endif
