/* SPDX-License-Identifier: MIT */
/*
 * The keeper: the process that writes a stream's log and outlives its controller.
 * It maps the stream object, holds lock byte PTRC_LIVE_KEEPER, obeys header.keeper_*,
 * flushes by itself (FLUSH policy), and when the controller's lock falls does what
 * posix_trace_shutdown would.
 */
#ifndef PTRC_LIB_KEEPER_KEEPER_H
#define PTRC_LIB_KEEPER_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/model/names.h"
#include "lib/stream/stream.h"

/* Everything the keeper needs; descriptors are duplicates that belong to the launcher. */
struct ptrc_keeper_args {
	int log_fd;
	int stream_fd; /* the stream object */
	int names_fd;  /* the names object */
	int dirfd;     /* shared directory the stream is in */
	uint32_t uid;  /* its owner */
	uint64_t stream_id;
};

/* Is log_fd fit for the policy (LOG-03 to -07)? EBADF, EINVAL. */
int ptrc_keeper_check_log(int log_fd, int log_policy);

/* Start a keeper and wait until it holds its lock and has written the log's head: 0, ENOSPC,
 * EFBIG, EIO... from writing the head; ENOMEM, EAGAIN->ENOMEM when it cannot be started;
 * EPERM if our children are born into another pid or time namespace. is_restart: an earlier
 * keeper died; the log is continued where it stopped. */
int ptrc_keeper_start(const struct ptrc_keeper_args *args,
		      struct ptrc_stream_header *header, bool is_restart);

/* Give the keeper a command (PTRC_KEEPER_FLUSH, _CLEAR, _CLOSE) and wait for its end; a
 * dead keeper is started anew first, and if that cannot be the caller does it itself. The
 * caller holds the controller's lock. origin and addr say whose call it is; a null origin is
 * nobody's. Without args, as there are no descriptors to be had, the keeper that is there
 * obeys; ENOMEM if it is dead. Result: the command's error number. */
int ptrc_keeper_command(const struct ptrc_keeper_args *args,
			struct ptrc_stream_header *header, uint32_t command,
			const struct ptrc_context *origin, uint64_t addr);

/* Reap the keeper if it is a direct child (fallback), after CLOSE. */
void ptrc_keeper_reap(struct ptrc_stream_header *header);

/* Controller and keeper are dead: flush what the stream holds into its log (if it can
 * still be found: header.log_path with log_dev, log_ino), close it. The caller holds byte
 * PTRC_LIVE_CLEANER and removes the stream afterwards; but with EAGAIN it leaves it as it is:
 * there was no room for the log, or this process may not make it so big. */
PTRC_MUST_CHECK int ptrc_keeper_finish_orphan(int dirfd, uint32_t uid, int stream_fd);

#endif
