/* SPDX-License-Identifier: MIT */
/* The sink of ptrace-dump --to-log: writes events to a new log. */
#ifndef PTRC_SRC_TEXT_LOG_SINK_H
#define PTRC_SRC_TEXT_LOG_SINK_H

#include <stdbool.h>

#include "src/query/query.h"

/* Starts a log in the open file, and has the query, whose sources are open, write its events there.
 * ptrc_query_end() closes the log, whose counts then include the losses of the sources. It sets *is_broken if
 * writing the log failed. Returns false after a message. */
bool ptrc_log_sink_begin(struct ptrc_query *, const char *path, int fd, bool *is_broken);

#endif
