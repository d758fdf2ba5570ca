/* SPDX-License-Identifier: MIT */
/*
 * A lock that tells other processes that its holder lives. It is an OFD write lock on a byte of
 * a file, and only a mapping keeps the lock's open file open. So the kernel drops the lock when
 * the process ends in any way, or executes another program. A forked child does not keep it, as
 * a fork does not copy the mapping.
 */
#ifndef PTRC_LIB_BASE_LIVENESS_H
#define PTRC_LIB_BASE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

/* Bytes of a stream object. */
#define PTRC_LIVE_CONTROLLER 0
#define PTRC_LIVE_KEEPER 1
#define PTRC_LIVE_CLEANER 2 /* held by a process that removes the stream of dead processes */

struct ptrc_liveness {
	void *map;    /* null: not held */
	uint32_t uid; /* for a place: whose directory it is in */
};

/* Locks a byte of the file `name` in dirfd. EAGAIN: another process holds it; ENOENT, EPERM,
 * ENOMEM. Raw system calls only. */
PTRC_MUST_CHECK int ptrc_liveness_take(int dirfd, const char *name, uint64_t byte,
				       struct ptrc_liveness *l);
void ptrc_liveness_drop(struct ptrc_liveness *l);
/* Does any process hold a byte of [byte, byte + count)? */
bool ptrc_liveness_is_held(int fd, uint64_t byte, uint64_t count);
/* Does the controller hold this byte? The watcher of its keeper takes a read lock of the byte for a moment when the
 * controller has died; that does not count. */
bool ptrc_liveness_is_controlled(int fd, uint64_t byte);

/* A child that is forked while another thread is in ptrc_liveness_take() would have a
 * descriptor of the open file, and so keep the lock. So the fork handlers call the first of
 * these before the fork, with signals blocked, and the second after it. */
void ptrc_liveness_fork_prepare(void);
void ptrc_liveness_fork_done(void);

/* A user has TRACE_SYS_MAX = 64 places for streams: bytes of the file `slots` in the user's
 * directory. Takes one for the caller's effective user. EAGAIN: all are taken; EPERM,
 * ENOMEM. */
PTRC_MUST_CHECK int ptrc_liveness_take_place(struct ptrc_liveness *l);
/* Drops it, and removes the file if no process holds a place. */
void ptrc_liveness_drop_place(struct ptrc_liveness *l);
/* How many places are taken in the directory. */
unsigned int ptrc_liveness_count_places(int dirfd, uint32_t uid);

/* The name of that file. ptrc_liveness_clean_places() removes it, through its descriptor fd, if
 * no process holds a place. Signals are blocked. */
#define PTRC_LIVE_PLACES "slots"
void ptrc_liveness_clean_places(int dirfd, int fd);

#endif
