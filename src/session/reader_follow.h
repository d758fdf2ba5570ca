/* SPDX-License-Identifier: MIT */
/*
 * Readers (src/query/reader.h) of a session's events. One kind follows the session; the other shows the
 * events that the session has now. Neither takes events away from the session.
 */
#ifndef PTRC_SRC_SESSION_READER_FOLLOW_H
#define PTRC_SRC_SESSION_READER_FOLLOW_H

#include <stdbool.h>

#include "src/query/reader.h"

/*
 * Opens a reader that follows a session. It gets the events that the stream holds now, then new events as
 * they are recorded. It does not get events that were flushed to the session's log before. Returns false
 * after a message.
 */
bool ptrc_reader_follow(struct ptrc_reader *, const char *session);

/*
 * Opens a reader of the events that a session has recorded so far. If the session flushes its stream to a log
 * by itself, the session is asked to flush and the reader reads that log. Otherwise the reader gets what the
 * stream holds now; if events were flushed to a log before, a message says so. The reader can be rewound.
 * A session that keeps no events is refused.
 * Returns 0, ENOENT if there is no such session, or another error number after a message.
 */
int ptrc_reader_dump(struct ptrc_reader *, const char *session);

#endif
