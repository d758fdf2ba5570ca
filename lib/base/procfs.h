/* SPDX-License-Identifier: MIT */
/* Information about processes, from /proc. Raw system calls only. Pid 0 is the calling process. */
#ifndef PTRC_LIB_BASE_PROCFS_H
#define PTRC_LIB_BASE_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The unit of start times (USER_HZ). */
#define PTRC_PROCFS_TICK_NS UINT64_C(10000000)

struct ptrc_procfs_stat {
	int pid, ppid;
	/* The thread whose ID is `pid` is a zombie or about to end. If it is the first thread of a
	 * process, other threads of that process may still run. */
	bool has_ended;
	bool is_stopped;       /* stopped by a signal or a debugger */
	bool is_runnable;      /* it runs, or waits for a processor */
	bool is_asleep;	       /* it waits, and a signal can end the wait */
	uint64_t used_ticks;   /* the processor time that it has used */
	uint64_t start_ticks;  /* ticks from boot to its start; exec does not change them */
	uint64_t memory_bytes; /* size of the address space */
	/* The address after the program's arguments and environment (AT_EXECFN). Each exec gives it
	 * another value. 0: unknown. */
	uint64_t arguments_end;
	/* Name of the thread whose ID is `pid`, zero-terminated; may hold any bytes. */
	char comm[64];
};

struct ptrc_procfs_status {
	uint32_t uid[3], gid[3]; /* real, effective, saved */
	/* The number of pid namespaces in which the process has an ID, from the namespace of the
	 * mounted /proc down to its own. 1: it is in the namespace of /proc itself. */
	int depth;
	int inner_pid; /* pid in its own namespace */
};

/* ptrc_procfs_stat() reads /proc/<pid>/stat, ptrc_procfs_status() reads /proc/<pid>/status. ESRCH:
 * there is no such process, or the caller may not read the file. */
int ptrc_procfs_stat(int pid, struct ptrc_procfs_stat *st);
int ptrc_procfs_status(int pid, struct ptrc_procfs_status *st);
/* Whether the process has mapped the file with this st_dev and st_ino. Also false if the caller
 * has no permission to see this. */
bool ptrc_procfs_maps_file(int pid, uint64_t dev, uint64_t inode);
/* Stores the inode of the process's pid namespace; 0 for the initial namespace. EPERM, ESRCH. */
int ptrc_procfs_pid_namespace(int pid, uint64_t *ns);
/* The inode of the caller's time namespace; 0 if the kernel has no time namespaces. */
uint64_t ptrc_procfs_time_namespace(void);
/* The time of a clock, "monotonic" or "boottime", in the time namespace of the caller's children
 * minus that of the machine; 0 if this is unknown, or the kernel has no time namespaces. */
int64_t ptrc_procfs_clock_offset(const char *clock);
/* The kind of namespace, "pid" or "time", in which a child of the caller would not be in that of the
 * caller, because the caller has called unshare(). NULL: there is none. */
const char *ptrc_procfs_bears_elsewhere(void);
/* Stores the ID that the user `uid` of the caller's user namespace has outside of it. False: the user
 * has no ID there. */
bool ptrc_procfs_user_outside(uint64_t uid, uint64_t *outside);
/* The effective user of the process. ESRCH. */
int ptrc_procfs_user(int pid, uint32_t *uid);
/* Reads at most `size` bytes from the start of the file `rest` in /proc/<pid>. Returns the number
 * of bytes read; 0 on an error. */
size_t ptrc_procfs_read(int pid, const char *rest, void *to, size_t size);
/* Calls visit() for each line of a file in /proc/<pid> until visit() returns true. `text` is a
 * buffer of `size` bytes; a line that does not fit is cut to size - 1 bytes. ESRCH: nothing can be
 * read. ENOMEM. */
int ptrc_procfs_lines(int pid, const char *rest, char *text, size_t size,
		      bool (*visit)(const char *line, void *arg), void *arg);
/* Opens a file in /proc/<pid>, following links. ENOMEM: too few descriptors. ESRCH. */
int ptrc_procfs_open(int pid, const char *rest, int flags, int *fd);
/* Device and inode of a file in /proc/<pid>, following links. ESRCH, EACCES and other errors of
 * stat(). */
int ptrc_procfs_inode(int pid, const char *rest, uint64_t *dev, uint64_t *ino);
/* Reads a link in /proc/<pid>, without a terminating zero. Returns its length; 0: unknown. */
size_t ptrc_procfs_link(int pid, const char *rest, char *path, size_t size);
/* The owner of the process's private files in /proc, such as environ. For a process that runs a
 * privileged program this is root, not its effective user. */
int ptrc_procfs_owner(int pid, uint32_t *uid);

/* Calls visit() for each child of each thread of the process until visit() returns false. Returns
 * false if the children cannot be listed. */
bool ptrc_procfs_children(int pid, bool (*visit)(int child, void *arg), void *arg);

/* A walk through all processes. It begins after the ID `first`, and goes on with the lowest ID after
 * the highest one, as the kernel does when it gives IDs to new processes. So the walk comes to the
 * children of a process later than to the process itself, if the process with the ID `first` was
 * started before both. Begins as {.proc = a descriptor of /proc, .first = ID, .last = ID}. */
struct ptrc_procfs_walk {
	int proc, first;
	int last; /* the ID that was returned last */
	/* the offset in the directory of that process, or of an earlier entry */
	int64_t offset;
	bool has_turned; /* the highest ID was reached */
};
/* Returns the next ID that a process, perhaps a zombie, has at this moment; 0 at the end. Each call
 * reads the directory anew: if a process forks another one and ends before the caller looks at it,
 * the walk still comes to the other one. */
int ptrc_procfs_next(struct ptrc_procfs_walk *walk);

/* Returns 0 if the process exists and has not ended; its first thread may have ended. ESRCH: it
 * has ended, or `pid` is the ID of a thread but of no process. ENOMEM. */
int ptrc_procfs_exists(int pid);
/* Whether the process of this pidfd has ended. Also true for a zombie. */
bool ptrc_procfs_has_ended(int pidfd);

#endif
