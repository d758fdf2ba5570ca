/* SPDX-License-Identifier: MIT */
/*
 * Files and mappings by raw system calls: async-signal-safe, without errno or cancellation points.
 * Functions of type int return 0 or an error number. Descriptors are close-on-exec.
 */
#ifndef PTRC_LIB_BASE_FILE_H
#define PTRC_LIB_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/base/common.h"

int ptrc_file_open(int dirfd, const char *path, int flags, unsigned int mode, int *fd);
/* Opens the file of fd again. Unlike a duplicate of fd, *again has an open file description of
 * its own, and so its own offset and locks. */
int ptrc_file_reopen(int fd, int flags, int *again);
/* The path of the file as the kernel knows it; empty if the file has no path, or the path does not
 * fit in `size` bytes. */
void ptrc_file_path(int fd, char *path, size_t size);
/* Removes the " (deleted)" that the kernel appends to the path of an unlinked file. */
void ptrc_file_path_undelete(char *path);
/* Gives an unnamed file (O_TMPFILE) this path. Returns the errors of linkat(), such as EEXIST. */
int ptrc_file_give_name(int fd, const char *path);
void ptrc_file_close(int fd);
static inline void ptrc_file_end(const int *fd)
{
	if (*fd >= 0)
		ptrc_file_close(*fd);
}
/* Defines a descriptor that is -1 at first, and is closed at the end of the block if it is open. */
#define PTRC_FD(name) PTRC_CLEANUP(ptrc_file_end) int name = -1
/* Returns the descriptor, which then stays open. */
static inline int ptrc_file_keep(int *fd)
{
	int kept = *fd;

	*fd = -1;
	return kept;
}

/* Returns ENOMEM if `error` means that descriptors, memory or space are exhausted, else
 * `otherwise`. */
int ptrc_file_shortage(int error, int otherwise);
int ptrc_file_stat(int fd, struct stat *st);
/* Does not follow a symbolic link at the end of the path. */
int ptrc_file_stat_at(int dirfd, const char *path, struct stat *st);
/* Reads `size` bytes at `offset`. *got is smaller only at the end of the file. */
int ptrc_file_read(int fd, void *buffer, size_t size, uint64_t offset, size_t *got);
/* Reads `size` bytes at `offset`. Returns false if the file does not have them all. */
static inline bool ptrc_file_read_whole(int fd, void *buffer, size_t size, uint64_t offset)
{
	size_t got;

	return ptrc_file_read(fd, buffer, size, offset, &got) == 0 && got == size;
}

/* Calls visit() for each entry of the directory from dirfd's offset on, until visit() returns true,
 * and returns whether it did. *is_whole (is_whole may be NULL) becomes false if an error ended the
 * reading. Other processes may add and remove entries meanwhile. The function's buffer holds only
 * three long names, because a thread that records an event may call it on a small stack. */
PTRC_NOINLINE bool ptrc_file_visit(int dirfd,
				   bool (*visit)(const char *name, uint64_t ino, void *arg),
				   void *arg, bool *is_whole);

/* Sets an OFD lock (F_RDLCK or F_WRLCK) on `count` bytes, or removes it (F_UNLCK). EAGAIN:
 * another open file description holds a conflicting lock. The lock belongs to the open file
 * description. A child that is forked while the lock is held shares this description. The lock
 * then stays when the caller closes its descriptor, so the caller must unlock. */
int ptrc_file_lock(int fd, int type, uint64_t byte, uint64_t count);
/* Waits for a write lock on one byte. EAGAIN after two seconds: the holder may be stopped or
 * hostile. The caller keeps signals blocked while it holds the lock. */
int ptrc_file_lock_wait(int fd, uint64_t byte);

/* Maps the first `size` bytes, shared. If `at` is not NULL, the mapping replaces what is mapped
 * there. ENOMEM. */
int ptrc_file_map(int fd, uint64_t size, int protection, void *at, void **map);
/* Maps the first `size` bytes of a large object as ptrc_file_map() does, readable and writable.
 * The kernel gives a page memory only when it is first used, even under mlockall(MCL_FUTURE). fd
 * -1: maps private zeroed memory. */
int ptrc_file_map_sparse(int fd, uint64_t size, void *at, void **map);

/* Maps the shared object that is mapped at `start` a second time, which needs neither its file nor a
 * descriptor. NULL: out of memory, or a processor emulator, which lacks this use of mremap(). */
void *ptrc_file_map_again(void *start, uint64_t size);

/* Private zeroed memory. The caller may munmap() it. NULL: out of memory. */
void *ptrc_file_zeros(uint64_t size);

/* Gives memory to the pages of a mapping. Without this call, the first access to a page of a sparse
 * shared object raises SIGBUS if the file system is full. False: out of memory. Kernels before 5.14
 * lack MADV_POPULATE_WRITE; there the function does nothing and returns true. */
bool ptrc_file_populate(const void *start, uint64_t bytes);

void ptrc_file_sleep_ns(uint64_t ns);
/* Waits before the next try in a loop that takes a lock; `tries` counts the tries so far. The
 * first few calls yield the processor, later ones sleep: if a real-time thread only yielded, a
 * lock holder of lower priority would never run. */
void ptrc_file_yield(unsigned tries);

#endif
