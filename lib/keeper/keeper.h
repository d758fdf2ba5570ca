/* SPDX-License-Identifier: MIT */
/*
 * The keeper: the process that writes a stream's log and outlives the stream's controller. It
 * maps the stream object, holds its lock byte PTRC_LIVE_KEEPER, obeys the commands in
 * header.keeper_command, flushes by itself where the policy is POSIX_TRACE_FLUSH, and does what
 * posix_trace_shutdown() would do when its controller has died.
 *
 * Here a controller starts a keeper and gives it commands, and anybody starts one for an
 * orphan: a stream with a log whose controller and keeper are both dead. keeper_life.h is what the process runs, keeper_work.h what it does to stream and log.
 */
#ifndef PTRC_LIB_KEEPER_KEEPER_H
#define PTRC_LIB_KEEPER_KEEPER_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/keeper/keeper_life.h"
#include "lib/stream/stream.h"

/* The descriptors that a keeper works with. The caller keeps these descriptors; the keeper gets copies. */
struct ptrc_keeper_args {
	int log_fd;
	int stream_fd; /* the stream object */
	int names_fd;  /* the names object; -1: it is gone (an orphan's only) */
	int dirfd;     /* the shared directory that the stream object is in */
};

/* Starts a keeper and waits for its first word: that it holds its lock and has written
 * the head of the log (PTRC_KEEPER_NEW), or continues where a killed keeper stopped
 * (PTRC_KEEPER_RESTART), or has finished the log (PTRC_KEEPER_ORPHAN).
 *   ENOSPC, EFBIG, EIO...  the keeper's own failure.
 *   ENOMEM                 it cannot be started.
 *   EAGAIN                 the same, because of a limit on processes.
 *   EPERM                  children of the caller are born into another pid or time
 *                          namespace.
 *   ECHILD                 several were started, and each died before its first word. */
PTRC_MUST_CHECK int ptrc_keeper_start(const struct ptrc_keeper_args *args,
				      struct ptrc_stream_header *header,
				      enum ptrc_keeper_task task);

/* Gives the keeper a command (PTRC_KEEPER_FLUSH, _CLEAR, _CLOSE) and waits for its end; if the
 * keeper is dead another is started first. The caller holds the controller's lock. `origin` and
 * `addr` say whose call it is; origin null: nobody's. Returns the error number of the command,
 * or ECHILD: the keeper is dead, no other can be started (or args is null, as the caller has no
 * descriptors for one), and nothing was done. EAGAIN: the same, because of a limit on processes. */
PTRC_MUST_CHECK int ptrc_keeper_command(const struct ptrc_keeper_args *args,
					struct ptrc_stream_header *header, uint32_t command,
					const struct ptrc_context *origin, uint64_t addr);

/* After PTRC_KEEPER_CLOSE: reaps the keeper if it is a child of the caller. */
void ptrc_keeper_reap(struct ptrc_stream_header *header);

/*
 * Where the events of an orphan go. That is the orphan's own log, wherever it is now: at its path,
 * under another name in the same directory, or open in some process. If it is nowhere, or cannot be
 * opened, it is a new file next to the old path, `NAME.salvaged`, or at a path that the caller
 * gives. No file is ever replaced: if there is one of that name, a number is added to it.
 *
 * Any process of the user can write what the header says, and the caller may be root. So a log must
 * be a regular file of that user, the very file that the keeper had, and the log of this very
 * stream; and a new file is made by the user himself only.
 */
struct ptrc_keeper_orders {
	/* The new log, if one is needed. NULL: next to the old path. */
	const char *path;
	/* The file that the caller is about to empty for a log of its own; ino 0: none. It counts
	 * as gone. */
	uint64_t taken_dev, taken_ino;
	/* Look for the log among the descriptors of all processes. */
	bool searches;
	/* sizeof(((struct ptrc_log_place *)0)->path) bytes for the path of the log that was
	 * written, or null. */
	char *written;
};

/* Starts a keeper that writes what the orphan holds into its log and closes that, and waits for
 * it. If there is no such log, or no more can be written to it, the events go into a new
 * one. The caller holds byte PTRC_LIVE_CLEANER of the stream object o.<id>, which
 * stream_fd is open on, in the directory dirfd of user `uid`.
 *   0        the log is closed: the caller removes the stream.
 *   ECHILD   one keeper after the other died.
 *   EINVAL   the stream has another layout, or is damaged.
 *   others   no log can be written, for this reason.
 * After an error the stream holds everything that no log has. */
PTRC_MUST_CHECK int ptrc_keeper_finish_orphan(int dirfd, uint32_t uid, int stream_fd,
					      const struct ptrc_keeper_orders *orders);

#endif
