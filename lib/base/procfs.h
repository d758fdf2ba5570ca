/* SPDX-License-Identifier: MIT */
/*
 * What /proc says about processes. Raw system calls only. A pid of 0 is the caller.
 */
#ifndef PTRC_LIB_BASE_PROCFS_H
#define PTRC_LIB_BASE_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/common.h"

/* The kernel counts start times in these (USER_HZ). */
#define PTRC_PROCFS_TICK_NS UINT64_C(10000000)

struct ptrc_procfs_stat {
	int pid, ppid;
	uint64_t start_ticks; /* since boot; kept over exec */
};

struct ptrc_procfs_status {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	int depth; /* pid namespaces from that of the mounted /proc to its own; 1: the same */
	int inner_pid; /* its pid in its own */
};

/* ESRCH if there is no such process, or it cannot be looked at. */
int ptrc_procfs_stat(int pid, struct ptrc_procfs_stat *st);
int ptrc_procfs_status(int pid, struct ptrc_procfs_status *st);
/* Inode of its pid namespace, 0 if that is the initial one. EPERM, ESRCH. */
int ptrc_procfs_pid_namespace(int pid, uint64_t *ns);
/* Inode of the caller's own time namespace, 0 if the kernel has none. */
uint64_t ptrc_procfs_time_namespace(void);
/* Would a child of the caller's be in another pid or time namespace (unshare)? */
bool ptrc_procfs_bears_elsewhere(void);
/* Owner of its private files: not its effective user if it is a privileged image. */
int ptrc_procfs_owner(int pid, uint32_t *uid);

/* Calls visit for the children of all its threads until that returns false. False if they
 * cannot be listed. */
bool ptrc_procfs_children(int pid, bool (*visit)(int child, void *arg), void *arg);

/* 0 if pid is a process (no thread id) that has not ended, ESRCH otherwise. A process whose
 * first thread has ended is none the less alive. ENOMEM. */
int ptrc_procfs_exists(int pid);

#endif
