/* SPDX-License-Identifier: MIT */
/*
 * The file of a new log, written by a keeper, or by the command itself (ptrc_log_target_*) from events that it
 * reads elsewhere.
 */
#ifndef PTRC_SRC_SESSION_LOGFILE_H
#define PTRC_SRC_SESSION_LOGFILE_H

#include <stdbool.h>

#include <trace.h>

#include "src/base/replace.h"
#include "src/query/query.h"

struct ptrc_logfile {
	const char *path;
	int fd;
	/* The file did not exist before. It is removed if no trace is made. */
	bool is_new;
	/* The log continues in other files, so its first one may be moved away. */
	bool is_rotated;
	/* Writing failed: the log is incomplete. */
	bool is_broken;
};

/*
 * Opens the file for writing without changing its contents; the library empties it when the trace is made.
 * Refuses a file that is neither a log nor empty unless is_forced; see ptrc_replace_open(). Locks a regular file
 * against other commands that write logs, until all duplicates of the descriptor are closed. Returns false after
 * a message if the file cannot be opened or locked, or cannot have the log-full policy of the attributes; then
 * there is nothing to close.
 */
bool ptrc_logfile_open(struct ptrc_logfile *, const char *path, const trace_attr_t *,
		       bool is_forced);

/*
 * Renames the opened file, if it is regular and not empty, to PATH.old, which may replace an older log, and opens
 * a new one. The other files of a rotated log are renamed, too. Returns false like ptrc_logfile_open().
 */
bool ptrc_logfile_keep_old(struct ptrc_logfile *, const trace_attr_t *, bool is_forced);

/* Prints that a file of this type needs the policy append. */
void ptrc_logfile_say_wrong_policy(const char *path);

/*
 * Whether the path no longer leads to the regular file with this descriptor. Files of other types, such as
 * FIFOs, are never gone: their reader has what was written to them.
 */
bool ptrc_logfile_is_gone(int fd, const char *path);

/* Closes the file. Removes it if it is new and not is_kept. */
void ptrc_logfile_close(struct ptrc_logfile *, bool is_kept);

/* Ends the process with a message if the option's value cannot be the path of such a log, also if it is
 * standard output and something else is written there. */
void ptrc_log_target_check(const char *option, const char *path, bool is_output_used);

/*
 * Opens the file like ptrc_logfile_open() and starts a log for the events of the query, whose sources are open
 * and must not include this file. Returns false after a message; then there is nothing to close.
 */
bool ptrc_log_target_open(struct ptrc_logfile *, struct ptrc_query *, const char *path,
			  bool is_forced);

/* Closes the file. If writing the log failed, removes a new file and empties an old one. */
void ptrc_log_target_close(struct ptrc_logfile *);

/*
 * Directs the output of the command to a file, opened by ptrc_replace_open(), without changing it yet. Returns
 * false after a message, also if the query reads the same file; if_read, unless NULL, is the message then.
 */
bool ptrc_log_target_output(const struct ptrc_query *, const char *path,
			    const struct ptrc_replace_kind *, bool is_forced, const char *if_read);

#endif
