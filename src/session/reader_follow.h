/* SPDX-License-Identifier: MIT */
/*
 * Readers (src/query/reader.h) whose events come from a session: one follows it, the other shows
 * what it has now. Neither takes events away.
 */
#ifndef PTRC_SRC_SESSION_READER_FOLLOW_H
#define PTRC_SRC_SESSION_READER_FOLLOW_H

#include <stdbool.h>

#include "src/query/reader.h"

/*
 * Makes a reader that follows a session: it shows the events as they come. The events that
 * the stream holds when the command starts come first; events that are in the log by then
 * do not come. If that fails, the function prints why and returns false.
 */
bool ptrc_reader_follow(struct ptrc_reader *, const char *session);

/*
 * Makes a reader of the events that a session has recorded so far. If the session flushes its
 * stream to a log by itself, that is the log after one more flush; otherwise it is what the stream
 * holds now, and a message tells of events that were flushed to a log before. The reader can go back
 * to the begin. Returns 0, ENOENT if there is no such session, or another error number after a
 * message that says why.
 */
int ptrc_reader_dump(struct ptrc_reader *, const char *session);

#endif
