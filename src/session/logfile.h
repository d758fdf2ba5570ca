/* SPDX-License-Identifier: MIT */
/*
 * The file that a new log is to be written to.
 */
#ifndef PTRC_SRC_SESSION_LOGFILE_H
#define PTRC_SRC_SESSION_LOGFILE_H

#include <stdbool.h>

struct ptrc_logfile {
	const char *path;
	int fd;
	/* It was not there before, so it goes if nothing comes of the trace. */
	bool is_new;
};

/*
 * Opens the file for writing and leaves its contents alone; the library empties it when
 * the trace is made. A regular file is locked against other commands that write logs, as
 * long as any duplicate of the descriptor is open.
 *   EWOULDBLOCK  another trace writes to it
 *   others       of open()
 */
int ptrc_logfile_open(struct ptrc_logfile *, const char *path);

/* Text for one of those. */
const char *ptrc_logfile_explain(int error);

/*
 * Whether the regular file that was opened there is not at the path any more. Others, a
 * FIFO say, have given what was written to their reader.
 */
bool ptrc_logfile_is_gone(int fd, const char *path);

/* Closes it; removes it if it is new and was not wanted in the end. */
void ptrc_logfile_close(struct ptrc_logfile *, bool is_kept);

#endif
