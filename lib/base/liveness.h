/* SPDX-License-Identifier: MIT */
/*
 * A lock by which other processes see that its holder lives. It is an OFD write lock on a byte of a
 * file, and only a mapping keeps its open file description alive. So the kernel drops the lock when
 * the process ends in any way or executes another program. A forked child does not inherit the
 * mapping, hence not the lock.
 */
#ifndef PTRC_LIB_BASE_LIVENESS_H
#define PTRC_LIB_BASE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

/* Bytes of a stream object that processes lock. */
#define PTRC_LIVE_CONTROLLER 0
#define PTRC_LIVE_KEEPER 1
#define PTRC_LIVE_CLEANER 2 /* held while a process removes a stream of dead processes */

struct ptrc_liveness {
	void *map;    /* NULL: not held */
	uint32_t uid; /* for a place: the user whose directory it is in */
};

/* Locks a byte of the file `name` in dirfd. EAGAIN: another process holds it. ENOENT, EPERM,
 * ENOMEM. Raw system calls only. */
PTRC_MUST_CHECK int ptrc_liveness_take(int dirfd, const char *name, uint64_t byte,
				       struct ptrc_liveness *l);
void ptrc_liveness_drop(struct ptrc_liveness *l);
/* Whether any process holds a byte of [byte, byte + count). */
bool ptrc_liveness_is_held(int fd, uint64_t byte, uint64_t count);
/* Whether the controller holds the byte. The watcher of its keeper holds a read lock for a
 * moment when the controller has died; that does not count. */
bool ptrc_liveness_is_controlled(int fd, uint64_t byte);

/* A child that another thread forks during ptrc_liveness_take() would inherit the descriptor and
 * keep the lock. So the fork handlers call these two before and after the fork, with signals
 * blocked. */
void ptrc_liveness_fork_prepare(void);
void ptrc_liveness_fork_done(void);

/* A user has TRACE_SYS_MAX = 64 places for streams: bytes of the file `slots` in the user's
 * directory. Takes one for the caller's effective user. EAGAIN: all are taken. EPERM, ENOMEM. */
PTRC_MUST_CHECK int ptrc_liveness_take_place(struct ptrc_liveness *l);
/* Drops the place, and removes the file if no process holds a place in it. */
void ptrc_liveness_drop_place(struct ptrc_liveness *l);
/* The number of places that are taken in the directory. */
unsigned int ptrc_liveness_count_places(int dirfd, uint32_t uid);

/* The name of that file. ptrc_liveness_clean_places() removes it if no process holds a place in
 * it; fd is open on it, and signals are blocked. */
#define PTRC_LIVE_PLACES "slots"
void ptrc_liveness_clean_places(int dirfd, int fd);

#endif
