/* SPDX-License-Identifier: MIT */
/*
 * A reader (src/view/reader.h) whose events come from a session that is followed.
 */
#ifndef PTRC_SRC_SESSION_READER_FOLLOW_H
#define PTRC_SRC_SESSION_READER_FOLLOW_H

#include <stdbool.h>

#include "src/view/reader.h"

/*
 * Makes a reader that follows a session: it shows the events as they come. The events that
 * the stream holds when the command starts come first; events that are in the log by then
 * do not come. If that fails, the function prints why and returns false.
 */
bool ptrc_reader_follow(struct ptrc_reader *, const char *session);

#endif
