/* SPDX-License-Identifier: MIT */
/*
 * The keeper: the process that writes a stream's log and outlives the stream's controller. It maps
 * the stream object, locks its byte PTRC_LIVE_KEEPER to show that it is alive, obeys the commands
 * in header.keeper_command, and flushes without a command under the policy POSIX_TRACE_FLUSH. When
 * its controller has died, it does what posix_trace_shutdown() would do.
 *
 * This unit starts keepers and gives them commands, for a controller. For an orphan (a stream whose
 * controller is dead, and its keeper, too, if it had one) any process may start a keeper.
 * keeper_life.h has what runs in a keeper's process, keeper_work.h what it does to stream and log.
 */
#ifndef PTRC_LIB_KEEPER_KEEPER_H
#define PTRC_LIB_KEEPER_KEEPER_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/keeper/keeper_life.h"
#include "lib/stream/stream.h"

/* The descriptors that a keeper works with. The keeper gets copies. */
struct ptrc_keeper_args {
	int log_fd;    /* -1: the keeper finds the file of a rotated log by its path */
	int stream_fd; /* the stream object */
	int names_fd;  /* the table of event names; -1: it no longer exists (possible for an orphan,
		        * a stream of a dead controller) */
	int dirfd;     /* the directory of the stream object */
};

/* Starts a keeper and waits for its first report: that it holds its lock and has written the head
 * of the log (PTRC_KEEPER_NEW), continues where a killed keeper stopped (PTRC_KEEPER_RESTART), or
 * has finished the log (PTRC_KEEPER_ORPHAN).
 *   ENOSPC, EFBIG, EIO...  the keeper was started, and reported this error
 *   ENOMEM                 no keeper can be started
 *   EAGAIN                 no keeper can be started, because of a limit on processes
 *   EPERM                  the caller's children are born into another pid or time namespace
 *   ECHILD                 several keepers were started, and each died before its first report */
PTRC_MUST_CHECK int ptrc_keeper_start(const struct ptrc_keeper_args *args,
				      struct ptrc_stream_header *header,
				      enum ptrc_keeper_task task);

/* Gives the keeper a command (PTRC_KEEPER_FLUSH, _CLEAR, _CLOSE) and waits until it is done. If the
 * keeper is dead, starts another one first. The caller makes sure that no other thread gives a
 * command meanwhile. The events that the command records (FLUSH_START and FLUSH_STOP) get `origin`
 * and `addr`; origin NULL: the trace system is their origin. Returns the error number of the
 * command. ECHILD: nothing was done, because the keeper is dead and no other could be started (args
 * NULL: the caller has no descriptors for that). EAGAIN: nothing was done, because a limit on
 * processes forbids another keeper. After PTRC_KEEPER_CLOSE, a keeper that is a child of the caller
 * is reaped. */
PTRC_MUST_CHECK int ptrc_keeper_command(const struct ptrc_keeper_args *args,
					struct ptrc_stream_header *header, uint32_t command,
					const struct ptrc_context *origin, uint64_t addr);

/*
 * Where a keeper writes the events of an orphan (a stream whose controller died): into the orphan's
 * own log, which may still have its path, have another name in the same directory, or only be open
 * in some process. If that log is not found, or cannot be opened, the events go into a new file:
 * `NAME.salvaged` next to the old path, or at the path that the caller gives. No file is ever
 * replaced: if the name exists, a number is added.
 *
 * Any process of the stream's user can write the stream's header, so its contents are not trusted,
 * and the caller may be root. The log must therefore be a regular file that belongs to this user,
 * be the same file that the keeper had open, and have the head of this stream's log. A new file is
 * created only if this user is also the caller's effective user.
 */
struct ptrc_keeper_orders {
	/* Path of a new log, if a new log is needed; NULL: next to the old one. */
	const char *path;
	/* A file that the caller is about to empty for a log of its own, so the orphan's events
	 * must not go there. taken_ino 0: no file. */
	uint64_t taken_dev, taken_ino;
	/* Whether to search for the log among the descriptors of all processes, too. */
	bool searches;
	/* NULL, or a buffer for the path of the log that was written, with room for sizeof(((struct
	 * ptrc_log_place *)0)->path) bytes. */
	char *written;
	/* NULL, or where the number of events is stored that the keeper has written, including
	 * those for which a full log had no room. */
	unsigned long *events;
};

/* Starts a keeper that writes an orphan's events into its log, or into a new log, and closes that
 * log; waits until this is done. The caller holds byte PTRC_LIVE_CLEANER of the stream object
 * o.<id>, open as stream_fd, in the directory dirfd of user `uid`.
 *   0        the log is closed: the caller removes the stream
 *   ECHILD   one keeper after the other died
 *   EINVAL   the stream is damaged
 *   EPROTO   this library does not know the version of the stream
 *   others   no log can be written, for this reason
 * After an error the stream keeps all events that no log has. */
PTRC_MUST_CHECK int ptrc_keeper_finish_orphan(int dirfd, uint32_t uid, int stream_fd,
					      const struct ptrc_keeper_orders *orders);

#endif
