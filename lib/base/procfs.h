/* SPDX-License-Identifier: MIT */
/* What /proc tells of processes. Raw system calls only. A pid of 0 stands for the calling
 * process. */
#ifndef PTRC_LIB_BASE_PROCFS_H
#define PTRC_LIB_BASE_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/common.h"

/* The unit of start times (USER_HZ). */
#define PTRC_PROCFS_TICK_NS UINT64_C(10000000)

struct ptrc_procfs_stat {
	int pid, ppid;
	/* The thread of this number runs no more: it is a zombie, or on its way out. Of a process
	 * only its first thread can be one while others run. */
	bool has_ended;
	bool is_stopped;       /* by a signal or a debugger */
	bool is_runnable;      /* it runs, or waits for a processor */
	uint64_t start_ticks;  /* since boot; an exec does not change it */
	uint64_t memory_bytes; /* of its address space */
	/* The name of its first thread, zero terminated; any bytes. */
	char comm[64];
};

struct ptrc_procfs_status {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	/* How many pid namespaces there are from that of the mounted /proc to that of the
	 * process; 1: they are the same. */
	int depth;
	int inner_pid; /* its pid in its own namespace */
};

/* ESRCH: there is no such process, or the caller may not look at it. */
int ptrc_procfs_stat(int pid, struct ptrc_procfs_stat *st);
int ptrc_procfs_status(int pid, struct ptrc_procfs_status *st);
/* Has the process mapped this file (device and inode as stat() tells them)? False also if the caller
 * may not look. */
bool ptrc_procfs_maps_file(int pid, uint64_t dev, uint64_t inode);
/* The inode of its pid namespace, 0 for the initial one. EPERM, ESRCH. */
int ptrc_procfs_pid_namespace(int pid, uint64_t *ns);
/* The inode of the caller's own time namespace, 0 if the kernel has none. */
uint64_t ptrc_procfs_time_namespace(void);
/* Would a child of the caller be born into another pid or time namespace, after unshare()? */
bool ptrc_procfs_bears_elsewhere(void);
/* Finds the range of user IDs of its user namespace that has this number: the first number there, the first one
 * here (outside, of the caller's own namespace), how many. column: which of the first two `number` belongs to. */
bool ptrc_procfs_user_range(int pid, int column, uint64_t number, uint64_t range[3]);
/* Is the process in a user namespace in which this user ID has no number? It then cannot make shared objects. */
bool ptrc_procfs_lacks_user(int pid, uint32_t uid);
/* Its effective user. ESRCH. */
int ptrc_procfs_user(int pid, uint32_t *uid);
/* Reads the begin of a file of /proc/<pid>, at most `size` bytes; returns how many. 0: nothing can be
 * read. */
size_t ptrc_procfs_read(int pid, const char *rest, void *to, size_t size);
/* Calls visit() for each line of such a file, of at most size - 1 bytes of it, until that returns true; `text` has
 * room for `size` bytes. ESRCH: there is nothing to read. ENOMEM. */
int ptrc_procfs_lines(int pid, const char *rest, char *text, size_t size,
		      bool (*visit)(const char *line, void *arg), void *arg);
/* Opens such a file, or the file to which such a link leads. ENOMEM: too few descriptors. ESRCH. */
int ptrc_procfs_open(int pid, const char *rest, int flags, int *fd);
/* The inode of the file to which such a link leads. ESRCH, EACCES and what else stat() may say. */
int ptrc_procfs_inode(int pid, const char *rest, uint64_t *dev, uint64_t *ino);
/* The path to which such a link leads, without a zero behind it; returns its length, 0: unknown. */
size_t ptrc_procfs_link(int pid, const char *rest, char *path, size_t size);
/* The owner of the process' private files in /proc. If the process executes a privileged
 * program this is root, and not its effective user. */
int ptrc_procfs_owner(int pid, uint32_t *uid);

/* Calls visit() for each child of each thread of the process, until visit() returns false.
 * Returns false if the children cannot be listed. */
bool ptrc_procfs_children(int pid, bool (*visit)(int child, void *arg), void *arg);

/* Returns 0 if pid is that of a process (not of another thread) that has not ended. Its first
 * thread may have ended. ESRCH, ENOMEM. */
int ptrc_procfs_exists(int pid);
/* Has the process of this pidfd ended? True also if its parent has not waited for it yet. */
bool ptrc_procfs_has_ended(int pidfd);

#endif
