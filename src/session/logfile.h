/* SPDX-License-Identifier: MIT */
/* The file of a new log. A keeper writes it, or the command itself writes events that it reads elsewhere
 * (ptrc_log_target_*). */
#ifndef PTRC_SRC_SESSION_LOGFILE_H
#define PTRC_SRC_SESSION_LOGFILE_H

#include <stdbool.h>
#include <stdint.h>

#include <trace.h>

#include "src/base/replace.h"
#include "src/query/query.h"

struct ptrc_logfile {
	const char *path;
	int fd; /* -1: closed */
	/* The file did not exist before. If no trace is made, it is removed. */
	bool is_new;
	/* The number of the log that was at the path before (ptrc_reader_log_id); 0 if there was none. */
	uint64_t replaced;
	/* The log is rotated: it continues in other files, and the user may move its first file away. */
	bool is_rotated;
	/* Writing the log failed, so it is incomplete. */
	bool is_broken;
};

/*
 * Opens the file for writing without changing its contents; the library empties it when the trace is made.
 * Unless is_forced, refuses a file that is neither a log nor empty; see ptrc_replace_open(). Locks a regular
 * file so that no other command writes a log to it, until all duplicates of the descriptor are closed.
 * Returns false, after a message, if the file cannot be opened or locked, if it belongs to a rotated log that is being
 * written, or if it is of a type that does not allow the log-full policy or the rotation that the attributes demand.
 * Then there is nothing to close.
 */
bool ptrc_logfile_open(struct ptrc_logfile *, const char *path, const trace_attr_t *,
		       bool is_forced);

/* Renames the log at the path to PATH.salvaged or, if a file of this name exists, to PATH.salvaged.2 and so on. The other
 * files of a rotated log are renamed, too. Prints a message that calls the log `what`. Returns false if the log cannot be
 * renamed. */
bool ptrc_logfile_put_away(const char *path, const char *what);

/* Called before the log at the path is opened. If the path is that of a later file of a rotated log, or if only later
 * files are left there, and this log has no end and is not being written, puts it away. Returns false, after a message,
 * if it cannot be renamed. */
bool ptrc_logfile_keep_rest(const char *path);

/* If the opened file is a log without an end, puts it away and opens a new file. Returns false, after a message, if
 * the log cannot be renamed or the new file cannot be opened. Then there is nothing to close. */
bool ptrc_logfile_keep_unfinished(struct ptrc_logfile *, const trace_attr_t *, bool is_forced);

/*
 * Renames the opened file to PATH.old, where it may replace an older log, and opens a new file. The other files
 * of a rotated log are renamed, too. Does nothing if the file is not regular, or is empty. Returns false, after a
 * message, if a file cannot be renamed or the new file cannot be opened. Then there is nothing to close.
 */
bool ptrc_logfile_keep_old(struct ptrc_logfile *, const trace_attr_t *, bool is_forced);

/* Called when the new log has a start: removes the other files of the rotated log that it replaces. */
void ptrc_logfile_begun(const struct ptrc_logfile *);

/* Prints that the file at the path is of a type that needs the log-full policy append. Always returns false. */
bool ptrc_logfile_say_wrong_policy(const char *path);

/* Whether the path no longer leads to the regular file of this descriptor. Returns false for files of other types:
 * what was written to a FIFO is with its reader, wherever the path leads. */
bool ptrc_logfile_is_gone(int fd, const char *path);

/* Closes the first file of a rotated log if it was deleted: the descriptor would keep the space on the disk that
 * later files need. Until then the lock keeps other commands from writing a log to its path. */
void ptrc_logfile_let_go(struct ptrc_logfile *);

/* Closes the file. Unless is_kept, removes it if it is new. */
void ptrc_logfile_close(struct ptrc_logfile *, bool is_kept);

/* Ends the process with a message if the option's value cannot be the path of a log that the command writes. The
 * path must not lead to standard output if something else is written there (is_output_used). */
void ptrc_log_target_check(const char *option, const char *path, bool is_output_used);

/* Whether a command may write to the path: the file there belongs to no rotated log that is being written or that the query
 * reads. The first file of the log may be missing: a file at its path would make the others unreadable. Returns false
 * after a message; if the query reads the log, this is if_read, or a default text if if_read is NULL. */
bool ptrc_log_target_is_free(const struct ptrc_query *, const char *path, const char *if_read);

/* Opens the file like ptrc_logfile_open(), and starts a log for the events of the query. The query's sources must
 * be open already, and the file must not be one of them. Returns false after a message; then there is nothing to
 * close. */
bool ptrc_log_target_open(struct ptrc_logfile *, struct ptrc_query *, const char *path,
			  bool is_forced);

/* Closes the file. If writing the log has failed, removes the file if it is new, and empties it otherwise. */
void ptrc_log_target_close(struct ptrc_logfile *);

/* Opens a file with ptrc_replace_open(), without changing it yet, and makes the command write its output there.
 * Returns false after a message. It is an error if the query reads the same file or if ptrc_log_target_is_free() says
 * so; if_read is as there. */
bool ptrc_log_target_output(const struct ptrc_query *, const char *path,
			    const struct ptrc_replace_kind *, bool is_forced, const char *if_read);

#endif
