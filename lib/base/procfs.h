/* SPDX-License-Identifier: MIT */
/* Questions about processes, answered from /proc. Raw system calls only. Pid 0 is the calling
 * process. */
#ifndef PTRC_LIB_BASE_PROCFS_H
#define PTRC_LIB_BASE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The unit of start times (USER_HZ). */
#define PTRC_PROCFS_TICK_NS UINT64_C(10000000)

struct ptrc_procfs_stat {
	int pid, ppid;
	/* The thread with this ID is a zombie or about to end. Only the first thread of a
	 * process can be a zombie while others run. */
	bool has_ended;
	bool is_stopped;       /* by a signal or a debugger */
	bool is_runnable;      /* runs or waits for a processor */
	uint64_t start_ticks;  /* since boot; exec does not change it */
	uint64_t memory_bytes; /* size of the address space */
	/* The address after the arguments and the environment, the same as AT_EXECFN; 0: unknown. exec changes it. */
	uint64_t arguments_end;
	/* Name of the first thread, zero-terminated; may hold any bytes. */
	char comm[64];
};

struct ptrc_procfs_status {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	/* Nesting depth of its pid namespace below that of the mounted /proc; 1: they are the
	 * same. */
	int depth;
	int inner_pid; /* pid in its own namespace */
};

/* ESRCH: the process does not exist, or the caller may not look at it. */
int ptrc_procfs_stat(int pid, struct ptrc_procfs_stat *st);
int ptrc_procfs_status(int pid, struct ptrc_procfs_status *st);
/* Whether the process has mapped the file with this st_dev and st_ino. False also if the caller
 * may not look. */
bool ptrc_procfs_maps_file(int pid, uint64_t dev, uint64_t inode);
/* The inode of its pid namespace; 0 for the initial one. EPERM, ESRCH. */
int ptrc_procfs_pid_namespace(int pid, uint64_t *ns);
/* The inode of the caller's time namespace; 0 if the kernel has none. */
uint64_t ptrc_procfs_time_namespace(void);
/* Whether a child of the caller would be born into another pid or time namespace, after
 * unshare(). */
bool ptrc_procfs_bears_elsewhere(void);
/* Finds the range in the uid_map of the process' user namespace that contains `number`. column
 * 0: `number` is a user ID inside that namespace; 1: one in the caller's namespace. range[]:
 * first ID inside, first ID in the caller's namespace, count. */
bool ptrc_procfs_user_range(int pid, int column, uint64_t number, uint64_t range[3]);
/* Whether the process is in a user namespace that maps no ID to this user. It then cannot make
 * shared objects. */
bool ptrc_procfs_lacks_user(int pid, uint32_t uid);
/* The effective user of the process. ESRCH. */
int ptrc_procfs_user(int pid, uint32_t *uid);
/* Reads the first `size` bytes of a file in /proc/<pid>. Returns how many were read; 0 on an
 * error. */
size_t ptrc_procfs_read(int pid, const char *rest, void *to, size_t size);
/* Calls visit() for each line of a file in /proc/<pid>, cut to size - 1 bytes, until it returns
 * true. `text` is a buffer of `size` bytes. ESRCH: nothing can be read. ENOMEM. */
int ptrc_procfs_lines(int pid, const char *rest, char *text, size_t size,
		      bool (*visit)(const char *line, void *arg), void *arg);
/* Opens a file in /proc/<pid>, following links. ENOMEM: too few descriptors. ESRCH. */
int ptrc_procfs_open(int pid, const char *rest, int flags, int *fd);
/* Device and inode of a file in /proc/<pid>, following links. ESRCH, EACCES and other errors of
 * stat(). */
int ptrc_procfs_inode(int pid, const char *rest, uint64_t *dev, uint64_t *ino);
/* Reads a link in /proc/<pid>, without a terminating zero. Returns its length; 0: unknown. */
size_t ptrc_procfs_link(int pid, const char *rest, char *path, size_t size);
/* The owner of the process' private files in /proc. For a process that runs a privileged program
 * this is root, not its effective user. */
int ptrc_procfs_owner(int pid, uint32_t *uid);

/* Calls visit() for each child of each thread of the process until it returns false. Returns
 * false if the children cannot be listed. */
bool ptrc_procfs_children(int pid, bool (*visit)(int child, void *arg), void *arg);

/* 0 if the process exists and has not ended. A thread ID that is no pid does not count. The
 * first thread may have ended. ESRCH, ENOMEM. */
int ptrc_procfs_exists(int pid);
/* Whether the process of this pidfd has ended; also true for a zombie. */
bool ptrc_procfs_has_ended(int pidfd);

#endif
