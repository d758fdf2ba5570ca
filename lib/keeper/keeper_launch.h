/* SPDX-License-Identifier: MIT */
/* Making the process of a keeper. Nothing here waits for what the keeper then does. */
#ifndef PTRC_LIB_KEEPER_KEEPER_LAUNCH_H
#define PTRC_LIB_KEEPER_KEEPER_LAUNCH_H

#include <stdbool.h>

#include "lib/base/common.h"
#include "lib/keeper/keeper_life.h"

/* What a keeper works with. The caller keeps these descriptors; the keeper gets copies. */
struct ptrc_keeper_args {
	int log_fd;
	int stream_fd; /* the stream object */
	int names_fd;  /* the names object; -1: it is gone (an orphan's only) */
	int dirfd;     /* the shared directory that the stream object is in */
};

struct ptrc_keeper_process {
	int pid;
	int pidfd;     /* readable once the process has ended; -1: kernel older than 5.3 */
	bool is_child; /* the caller has to reap it */
};

/* ENOMEM, or EAGAIN because of a limit on processes: none can be made. ECHILD: one may have been made, but the helper that made it
 * was killed before it could tell the process id; *process says pid 0 then. */
PTRC_MUST_CHECK int ptrc_keeper_launch(const struct ptrc_keeper_args *args,
				       enum ptrc_keeper_task task, uint32_t number,
				       struct ptrc_keeper_process *process);

/* Waits for the end of the process if it is a child of the caller; returns at once if it is
 * not. */
void ptrc_keeper_wait_for_child(int pid);

#endif
