/* SPDX-License-Identifier: MIT */
/*
 * The file that a new log is to be written to: by a keeper, or by the command itself (ptrc_log_target_*), of events
 * that it reads elsewhere.
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
	/* The file did not exist before; it is removed if no trace is made. */
	bool is_new;
	/* The log goes on in other files, so its first one may be taken away. */
	bool is_rotated;
	/* Writing it failed, so that it has a part of the log at most. */
	bool is_broken;
};

/*
 * Opens the file for writing without changing its contents; the library empties it when the
 * trace is made. A file that is neither a log nor empty is refused unless is_forced; see
 * ptrc_replace_open(). A regular file is locked against other commands that write logs, as
 * long as any duplicate of the descriptor is open. If the file cannot be opened or locked, or cannot
 * have the log-full policy of the attributes, the function prints why and returns false; then there
 * is nothing to close.
 */
bool ptrc_logfile_open(struct ptrc_logfile *, const char *path, const trace_attr_t *,
		       bool is_forced);

/*
 * If the file that was opened is regular and not empty, renames it to PATH.old, in the place of an older
 * log of that name, and opens a new one. Returns false as ptrc_logfile_open() does.
 */
bool ptrc_logfile_keep_old(struct ptrc_logfile *, const trace_attr_t *, bool is_forced);

/* Says that a file of this type cannot have another policy than append. */
void ptrc_logfile_say_wrong_policy(const char *path);

/*
 * Whether the regular file with this descriptor is no longer the one at the path. Files of
 * other types, such as FIFOs, are never gone: what was written to them is with their reader.
 */
bool ptrc_logfile_is_gone(int fd, const char *path);

/* Closes the file, and removes it if it is new and not to be kept. */
void ptrc_logfile_close(struct ptrc_logfile *, bool is_kept);

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

/*
 * Has the output of the command go to a file, as ptrc_replace_open() opens it; nothing in it is changed yet. If that
 * fails, or the file is one of those that the query reads, prints why and returns false; if_read is the reason for the
 * latter, or null.
 */
bool ptrc_log_target_output(const struct ptrc_query *, const char *path,
			    const struct ptrc_replace_kind *, bool is_forced, const char *if_read);

#endif
