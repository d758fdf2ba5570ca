/* SPDX-License-Identifier: MIT */
/*
 * Files by raw system calls: async-signal-safe, no errno, no cancellation point. All
 * return 0 or a positive error number. Descriptors are close-on-exec.
 */
#ifndef PTRC_LIB_BASE_FILE_H
#define PTRC_LIB_BASE_FILE_H

#include <stdint.h>
#include <sys/stat.h>

#include "lib/base/common.h"

int ptrc_file_open(int dirfd, const char *path, int flags, unsigned int mode, int *fd);
/* The file that fd is open on, opened once more: an open file of its own. */
int ptrc_file_reopen(int fd, int flags, int *again);
void ptrc_file_close(int fd);
int ptrc_file_stat(int fd, struct stat *st);
/* Does not follow a final symbolic link. */
int ptrc_file_stat_at(int dirfd, const char *path, struct stat *st);
/* Reads up to `size` bytes at `offset`; *got is less only at the end of the file. */
int ptrc_file_read(int fd, void *buffer, size_t size, uint64_t offset, size_t *got);

/* OFD lock of type F_RDLCK, F_WRLCK or F_UNLCK on count bytes. EAGAIN: another has it.
 * A lock belongs to the open file: a child forked meanwhile shares it, so give it back
 * with F_UNLCK, closing is not enough. */
int ptrc_file_lock(int fd, int type, uint64_t byte, uint64_t count);
/* Waits for a write lock on one byte, but not for ever: its holder may be stopped, or
 * another user's process that means harm. EAGAIN then. Block signals around it. */
int ptrc_file_lock_wait(int fd, uint64_t byte);

/* Shared mapping of the first `size` bytes; at `at` if that is not null, replacing what
 * is there. ENOMEM. */
int ptrc_file_map(int fd, uint64_t size, int protection, void *at, void **map);
/* The same, readable and writable, of what is large and mostly no memory yet, and is to
 * remain so under mlockall(MCL_FUTURE). fd -1: private zeros. */
int ptrc_file_map_sparse(int fd, uint64_t size, void *at, void **map);

void ptrc_file_sleep_ns(uint64_t ns);
/* Before try number `tries` + 1 for a lock: sleeps once others of our priority have not given
 * it back, as a real-time thread would keep one of lower priority from ever doing so. */
void ptrc_file_yield(unsigned tries);

#endif
