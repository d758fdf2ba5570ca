/* SPDX-License-Identifier: MIT */
/*
 * Cursors: positions in an active stream from which events are read without being consumed. For the
 * functions of lib/api/cursor.c see <posixtrace-control.h>, for those that make parts of a log
 * posixtrace-private.h.
 */
#ifndef PTRC_LIB_CONTROL_CURSOR_H
#define PTRC_LIB_CONTROL_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/control/next.h"

/* Opens a cursor on the stream. EINVAL: no active stream; ENOMEM. */
int ptrc_cursor_open(trace_id_t stream, bool is_snapshot, struct posixtrace_cursor **cursor);
/* Gets the next event, as PTRC_NEXT_TRY. EINVAL: the stream was shut down; ENOMEM. */
int ptrc_cursor_next(struct posixtrace_cursor *cursor, const struct ptrc_next_result *out);
/* As the public function. EINVAL: the stream was shut down. */
int ptrc_cursor_select(struct posixtrace_cursor *cursor, const trace_event_set_t *types);
/* Counts what the cursor has missed, as ptrc_live_reader_missed(). EINVAL: the stream was shut
 * down. */
int ptrc_cursor_missed(struct posixtrace_cursor *cursor, uint64_t *missed);
void ptrc_cursor_close(struct posixtrace_cursor *cursor);

#endif
