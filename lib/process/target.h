/* SPDX-License-Identifier: MIT */
/* The target of a trace: a process that a controller traces or wants to trace. It is the calling
 * process itself, another process of the same user or, if the controller is root, any process. */
#ifndef PTRC_LIB_PROCESS_TARGET_H
#define PTRC_LIB_PROCESS_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/model/names.h"
#include "lib/base/procfs.h"
#include "lib/process/page_layout.h"

/* The past of a process: of root's directory, it has mapped this, because root started it, and it has changed its user
 * since. Only root can find it out. */
enum ptrc_target_past {
	PTRC_TARGET_NO_PAST, /* nothing, or the process never was root's */
	PTRC_TARGET_HAS_BELL_OF_ROOT,
	PTRC_TARGET_HAS_PAGE_OF_ROOT,
	/* a page with streams; or streams without a page, as a child of such a process has: so the process does not
	 * look for another page */
	PTRC_TARGET_TRACED_AS_ROOT,
};

struct ptrc_target {
	pid_t pid;
	uid_t uid; /* the process's effective user; the page is in this user's directory */
	int dirfd; /* the directory of that user; -1: not open */
	struct ptrc_page *page; /* the page of the process (list of its streams), mapped */
	uint64_t inode;		/* inode of the file of the page */
	uint64_t start_ticks;
	uint64_t ns; /* pid namespace of the process, the same as that of this process */
	bool is_self;
	/* ptrc_target_look has found streams that the page does not have: those of ancestors. */
	bool has_joined;
	enum ptrc_target_past past;
};

/* Reads /proc/<pid>/status, if the caller has the same effective user as the process or is root. EPERM: the
 * process has another user, or the mounted /proc is that of another pid namespace. Other errors: ESRCH,
 * ENOMEM. */
int ptrc_target_status(pid_t pid, struct ptrc_procfs_status *status);
/* `uid` is the present user of the process `pid`, which started at start_ticks in the pid namespace `ns`, that of the
 * caller. */
enum ptrc_target_past ptrc_target_past(int pid, uint32_t uid, uint64_t ns, uint64_t start_ticks);
/* Finds or makes the page (list of streams) of an existing process; pid 0 is the caller. Removes what dead
 * processes left, and finishes their logs; log_fd is as for ptrc_sweep(). ESRCH, EPERM, ENOMEM. */
int ptrc_target_open(pid_t pid, int log_fd, struct ptrc_target *t);
/* Copies into *page the streams that trace the process. These are the streams in its page (list of streams)
 * and, if no program with the library has run in the process yet, the streams that such a program would join.
 * Makes, locks and removes nothing. *t then has no page, so ptrc_target_rest is enough to give it up. ENOENT:
 * no process of that user is traced. Other errors: ESRCH, EPERM, ENOMEM. */
int ptrc_target_look(pid_t pid, struct ptrc_target *t, struct ptrc_page *page);
/* Puts the streams of ancestors that ptrc_target_look has found into the page (list of streams) of the process. So the
 * process counts as traced, and stays traced when these ancestors have ended. If that fails, nothing changes. */
void ptrc_target_join(struct ptrc_target *t);
/* Gives up the target. If its page (list of its streams) was made for a process without the library and has no
 * stream, also removes the page. */
void ptrc_target_close(struct ptrc_target *t);
/* ptrc_target_rest closes dirfd, and ptrc_target_wake opens it again (errors: ENOENT, EPERM,
 * ENOMEM). If dirfd is not open, ptrc_target_detach only takes the stream out of the page, without
 * the page's lock. A controller keeps no descriptor between calls, because the program may close
 * all its descriptors: then the number in dirfd could become that of another descriptor of the
 * program, which the controller would close. */
void ptrc_target_rest(struct ptrc_target *t);
int ptrc_target_wake(struct ptrc_target *t);
/* Maps the names object (table of event names) of the target, which is made if there is none. The caller gives
 * the mapping back with ptrc_target_names_unref. EPROTO: this library does not know the version of the
 * object. Other errors: ESRCH, EPERM, ENOMEM. */
int ptrc_target_names(struct ptrc_target *t, struct ptrc_names **names);
/* Unmaps and frees what ptrc_target_names() returned, and unlinks the object if nothing needs it any more. */
void ptrc_target_names_unref(struct ptrc_names *names);
/* Puts the stream into a free slot of the target's page (list of streams). EAGAIN: all 64 slots are
 * used. Other errors: ESRCH, EPERM, ENOMEM. For an INHERITED stream this may take 10 ms;
 * exclude_earlier_children in target.c says why. */
int ptrc_target_attach(struct ptrc_target *t, uint64_t stream_id, uint64_t names_id,
		       uint32_t flags);
/* Takes the stream (0: none) out of the target's page (list of streams), and removes a page that
 * was made for a process without the library and has no other stream. The target unmaps the stream
 * when it next calls ptrc_event_cold(). If the target is this process, ptrc_attach_drop does that
 * at once. */
void ptrc_target_detach(struct ptrc_target *t, uint64_t stream_id);

#endif
