/* SPDX-License-Identifier: MIT */
/* Events that are written to a log, in place of lines. */
#ifndef PTRC_SRC_TEXT_LOG_SINK_H
#define PTRC_SRC_TEXT_LOG_SINK_H

#include <stdbool.h>

#include "src/query/query.h"

/* Begins a log in the file, to which the events go from now on, once the sources are open;
 * ptrc_query_end() closes it, and it then tells what is missing in the sources. *is_broken is set if
 * writing it fails. Returns false after a message. */
bool ptrc_log_sink_begin(struct ptrc_query *, const char *path, int fd, bool *is_broken);

#endif
