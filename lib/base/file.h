/* SPDX-License-Identifier: MIT */
/*
 * Files and mappings by raw system calls: async-signal-safe, without errno or cancellation
 * points. The functions return 0 or an error number. Descriptors are close-on-exec.
 */
#ifndef PTRC_LIB_BASE_FILE_H
#define PTRC_LIB_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/base/common.h"

int ptrc_file_open(int dirfd, const char *path, int flags, unsigned int mode, int *fd);
/* Opens the file of fd once more, as an open file that no other descriptor shares. */
int ptrc_file_reopen(int fd, int flags, int *again);
/* The path of the file, as the kernel knows it; empty if it has none, or a longer one. */
void ptrc_file_path(int fd, char *path, size_t size);
/* Takes off what the kernel adds to the path of a file that has no name any more. */
void ptrc_file_path_undelete(char *path);
/* Gives a file that has no name yet this path. EEXIST: it is taken; errors of link(). */
int ptrc_file_give_name(int fd, const char *path);
void ptrc_file_close(int fd);
int ptrc_file_stat(int fd, struct stat *st);
/* Does not follow a final symbolic link. */
int ptrc_file_stat_at(int dirfd, const char *path, struct stat *st);
/* Reads `size` bytes at `offset`; *got is less only at the end of the file. */
int ptrc_file_read(int fd, void *buffer, size_t size, uint64_t offset, size_t *got);
/* Reads `size` bytes at `offset`. Returns false if the file does not have them all. */
static inline bool ptrc_file_read_whole(int fd, void *buffer, size_t size, uint64_t offset)
{
	size_t got;

	return ptrc_file_read(fd, buffer, size, offset, &got) == 0 && got == size;
}

/* Calls visit() for each entry that is left of the directory, until that returns true. False: it never did;
 * *is_whole, if it is not null: all entries were read. Others may come and go meanwhile. The buffer is small
 * because of the stacks on which an event may come here, and has room for three entries. */
PTRC_NOINLINE bool ptrc_file_visit(int dirfd,
				   bool (*visit)(const char *name, uint64_t ino, void *arg),
				   void *arg, bool *is_whole);

/* Sets an OFD lock of type F_RDLCK, F_WRLCK or F_UNLCK on `count` bytes. EAGAIN: another open
 * file has a lock there. The lock belongs to the open file. A child that is forked meanwhile
 * shares that, so the caller has to unlock: closing its descriptor may not be enough. */
int ptrc_file_lock(int fd, int type, uint64_t byte, uint64_t count);
/* Waits for a write lock on one byte. EAGAIN after two seconds: its holder may be stopped, or
 * be another user's process that means harm. The caller blocks signals around the lock. */
int ptrc_file_lock_wait(int fd, uint64_t byte);

/* Maps the first `size` bytes, shared. If `at` is not null the mapping replaces what is mapped
 * there. ENOMEM. */
int ptrc_file_map(int fd, uint64_t size, int protection, void *at, void **map);
/* The same for a large object, readable and writable: its pages are not backed by memory yet,
 * not even under mlockall(MCL_FUTURE). fd -1: private memory of zeros. */
int ptrc_file_map_sparse(int fd, uint64_t size, void *at, void **map);

/* Private memory of zeros, for ever or until munmap(); null: there is none. */
void *ptrc_file_zeros(uint64_t size);

/* Backs the pages of a mapping with memory. The first access to a page of a sparse shared
 * object ends in SIGBUS if the file system is full; this call can fail instead. False: there is
 * no memory. Kernels before 5.14 cannot do it: there this does nothing and returns true. */
bool ptrc_file_populate(const void *start, uint64_t bytes);

void ptrc_file_sleep_ns(uint64_t ns);
/* Called in a loop that tries to get a lock, before each further try. Gives the processor to
 * other threads a few times, then sleeps: if a real-time thread only yielded, a holder of lower
 * priority would never run. */
void ptrc_file_yield(unsigned tries);

#endif
