/* SPDX-License-Identifier: MIT */
/*
 * The file of a log that a command writes itself, of events that it reads elsewhere.
 */
#ifndef PTRC_SRC_SESSION_LOG_TARGET_H
#define PTRC_SRC_SESSION_LOG_TARGET_H

#include <stdbool.h>

#include "src/session/logfile.h"
#include "src/query/query.h"

/* Ends the process with a message if the value of the option cannot be the path of such a log: also if
 * it is standard output, and something else is written there. */
void ptrc_log_target_check(const char *option, const char *path, bool is_output_used);

/*
 * Opens the file as ptrc_logfile_open() does and begins a log in it, to which the events of the query
 * go from now on. Its sources are open; none of them may be this file. If that fails, prints why and
 * returns false; then there is nothing to close.
 */
bool ptrc_log_target_open(struct ptrc_logfile *, struct ptrc_query *, const char *path,
			  bool is_forced);

/* Closes the file. If writing the log failed, none is left: a new file is removed, and one that was replaced is
 * empty. */
void ptrc_log_target_close(struct ptrc_logfile *);

/* Whether the file is one of those that the query reads; if so, prints that. */
bool ptrc_log_target_is_read(const struct ptrc_query *, int fd, const char *path);

#endif
