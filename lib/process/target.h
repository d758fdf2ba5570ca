/* SPDX-License-Identifier: MIT */
/* A process that a controller traces or wants to trace: one of the same user, any process if the
 * controller is root, or the calling process itself. */
#ifndef PTRC_LIB_PROCESS_TARGET_H
#define PTRC_LIB_PROCESS_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/model/names.h"
#include "lib/base/procfs.h"
#include "lib/process/page_layout.h"

struct ptrc_target {
	pid_t pid;
	uid_t uid;		/* its effective user, in whose directory its page is */
	int dirfd;		/* that directory; -1: not open */
	struct ptrc_page *page; /* mapped */
	uint64_t inode;		/* of the page */
	uint64_t start_ticks;
	uint64_t ns; /* pid namespace, the same as ours */
	bool is_self;
};

/* Reads /proc/<pid>/status, if the caller has the process' effective user or is root. EPERM:
 * another user, or the mounted /proc is that of another pid namespace. ESRCH, ENOMEM. */
int ptrc_target_status(pid_t pid, struct ptrc_procfs_status *status);
/* Finds or makes the page of an existing process; pid 0 is the caller. Also removes what dead
 * processes left, and finishes their logs; log_fd as for ptrc_sweep(). ESRCH, EPERM, ENOMEM. */
int ptrc_target_open(pid_t pid, int log_fd, struct ptrc_target *t);
/* Copies into *page the streams that trace the process: those in its page and, if no image with
 * the library has run in it yet, those that such an image would join. Makes, locks and removes
 * nothing. *t has no page; ptrc_target_rest is enough to give it up. ENOENT: no process of that
 * user is traced. ESRCH, EPERM, ENOMEM. */
int ptrc_target_look(pid_t pid, struct ptrc_target *t, struct ptrc_page *page);
/* Also removes a page that was made for a process without the library, if it has no stream. */
void ptrc_target_close(struct ptrc_target *t);
/* Closes dirfd, and opens it again (ENOENT, EPERM, ENOMEM; without it, the functions below do
 * what they can). A controller keeps no descriptor between calls: a program that closes all
 * descriptors would close it, too, and the controller would later close a descriptor of the
 * program that has got the same number. */
void ptrc_target_rest(struct ptrc_target *t);
int ptrc_target_wake(struct ptrc_target *t);
/* Maps the names object of the target, which is made if there is none. The caller gives the
 * mapping back by ptrc_names_unref. ESRCH, EPERM, ENOMEM. */
int ptrc_target_names(struct ptrc_target *t, struct ptrc_names **names);
/* Enters the stream into a free slot of the page. EAGAIN: all 64 are taken; ESRCH, ENOMEM. For an
 * INHERITED stream this may take 10 ms, see exclude_earlier_children in target.c. */
int ptrc_target_attach(struct ptrc_target *t, uint64_t stream_id, uint64_t names_id,
		       uint32_t flags);
/* Takes the stream (0: none) out of the page. The target unmaps it when one of its events next
 * takes the cold way. If the target is this process, ptrc_attach_drop does that at once. */
void ptrc_target_detach(struct ptrc_target *t, uint64_t stream_id);

#endif
