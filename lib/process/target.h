/* SPDX-License-Identifier: MIT */
/*
 * A process that is traced, or is to be, as a controller sees it: any process of the same user,
 * or the calling process itself.
 */
#ifndef PTRC_LIB_PROCESS_TARGET_H
#define PTRC_LIB_PROCESS_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/model/names.h"
#include "lib/process/page_layout.h"

struct ptrc_target {
	pid_t pid;
	uid_t uid;		/* its effective user, in whose directory its page is */
	int dirfd;		/* that directory, or -1 */
	struct ptrc_page *page; /* mapped */
	uint64_t inode;		/* of the page */
	uint64_t start_ticks;
	uint64_t ns; /* pid namespace, the same as ours */
	bool is_self;
};

/* Find or make the page of an existing process; pid 0 is the caller. Also sweeps away what dead
 * processes left behind. ESRCH, EPERM, ENOMEM. */
int ptrc_target_open(pid_t pid, struct ptrc_target *t);
/* Copy into *page which streams trace process pid: what its page says or, if no image with the
 * library has run there yet, what such an image would join. Nothing is made, locked or swept. Of
 * *t only pid, uid, ns and dirfd are set; ptrc_target_rest closes dirfd. ENOENT: no process of
 * that user is traced. ESRCH, EPERM, ENOMEM. */
int ptrc_target_look(pid_t pid, struct ptrc_target *t, struct ptrc_page *page);
/* Also removes a page that was made for a process without the library, if no stream is attached
 * to it. */
void ptrc_target_close(struct ptrc_target *t);
/* A controller keeps no descriptor between calls: a program that closes all of its descriptors
 * would close ours, and we would later close one that the program opened. Rest closes dirfd;
 * wake opens it anew (ENOENT, EPERM, ENOMEM; the functions below do what they can without). */
void ptrc_target_rest(struct ptrc_target *t);
int ptrc_target_wake(struct ptrc_target *t);
/* Its names object, made if need be. The mapping is a reference of its own, given back by
 * ptrc_names_unref. */
int ptrc_target_names(struct ptrc_target *t, struct ptrc_names **names);
/* Enter the stream into a free slot of the page: EAGAIN if all 64 are taken; ESRCH, ENOMEM. For
 * an INHERITED stream this may take up to 10 ms, see exclude_earlier_children in target.c. */
int ptrc_target_attach(struct ptrc_target *t, uint64_t stream_id, uint64_t names_id,
		       uint32_t flags);
/* Take the stream out of the page; harmless if it is not there. The target unmaps the stream on
 * its next cold path. If the target is this process, ptrc_recorder_detach does that at once. */
void ptrc_target_detach(struct ptrc_target *t, uint64_t stream_id);

#endif
