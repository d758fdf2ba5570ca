/* SPDX-License-Identifier: MIT */
/*
 * Cursors: places in an active stream from which events are read without being taken out. The
 * functions of lib/api/cursor.c are documented in <posixtrace-control.h>, and those that make parts of
 * a log in posixtrace-private.h.
 */
#ifndef PTRC_LIB_CONTROL_CURSOR_H
#define PTRC_LIB_CONTROL_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include <posixtrace-control.h>

#include "lib/control/next.h"

/* Open a cursor on the stream. EINVAL: no active stream; ENOMEM. */
int ptrc_cursor_open(trace_id_t stream, bool is_snapshot, struct posixtrace_cursor **cursor);
/* The next event, as PTRC_NEXT_TRY reports it. EINVAL: the stream is gone; ENOMEM. */
int ptrc_cursor_next(struct posixtrace_cursor *cursor, const struct ptrc_next_result *out);
/* As the public function of this name. EINVAL: the stream is gone. */
int ptrc_cursor_select(struct posixtrace_cursor *cursor, const trace_event_set_t *types);
/* Count what the cursor has missed, see ptrc_live_reader_missed. EINVAL: the stream is gone. */
int ptrc_cursor_missed(struct posixtrace_cursor *cursor, uint64_t *missed);
void ptrc_cursor_close(struct posixtrace_cursor *cursor);

#endif
