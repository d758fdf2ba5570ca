/* SPDX-License-Identifier: MIT */
/*
 * Readers (src/query/reader.h) of a session's events: one follows it, the other shows what it has now. Neither
 * takes events away from the session.
 */
#ifndef PTRC_SRC_SESSION_READER_FOLLOW_H
#define PTRC_SRC_SESSION_READER_FOLLOW_H

#include <stdbool.h>

#include "src/query/reader.h"

/*
 * Opens a reader that follows a session: it gets the events that the stream holds now, then new ones as they
 * come. It does not get events that were flushed to the log before. Returns false after a message.
 */
bool ptrc_reader_follow(struct ptrc_reader *, const char *session);

/*
 * Opens a reader of the events that a session has recorded so far. If the session flushes its stream to a log by
 * itself, it reads that log, after a flush. Otherwise it gets what the stream holds now, and a message reports
 * events that were flushed to a log before. The reader can be rewound. Returns 0, ENOENT if there is no such
 * session, or another error number after a message.
 */
int ptrc_reader_dump(struct ptrc_reader *, const char *session);

#endif
