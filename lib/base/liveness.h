/* SPDX-License-Identifier: MIT */
/*
 * A lock that shows other processes that its holder is alive. It is an OFD write lock on a byte of
 * a file. The holder closes the descriptor, and keeps only a mapping of the file, which keeps the
 * open file description and so the lock. So the kernel drops the lock when the process ends in any
 * way or executes another program. A forked child does not inherit the mapping, and so does not
 * hold the lock.
 */
#ifndef PTRC_LIB_BASE_LIVENESS_H
#define PTRC_LIB_BASE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

/* Bytes of a stream object. A process locks one of them to show that it is the living controller or
 * keeper of the stream. */
#define PTRC_LIVE_CONTROLLER 0
#define PTRC_LIVE_KEEPER 1
#define PTRC_LIVE_CLEANER 2 /* held by a process that finishes or removes an orphan */

struct ptrc_liveness {
	void *map; /* NULL: the lock is not held */
	/* set by ptrc_liveness_take_place(): the user in whose directory the file is */
	uint32_t uid;
};

/* Locks a byte of the file `name` in dirfd. EAGAIN: another process holds the lock. ENOENT,
 * EPERM, ENOMEM. Makes raw system calls only. */
PTRC_MUST_CHECK int ptrc_liveness_take(int dirfd, const char *name, uint64_t byte,
				       struct ptrc_liveness *l);
void ptrc_liveness_drop(struct ptrc_liveness *l);
/* Whether any process holds a lock on one of `count` bytes from `byte` on. */
bool ptrc_liveness_is_held(int fd, uint64_t byte, uint64_t count);
/* Whether the stream's controller holds its lock. When the controller has died, a thread of its
 * keeper (watch() in keeper_life.c) read-locks the byte for a moment; that lock does not make the
 * result true. */
bool ptrc_liveness_is_controlled(int fd);

/* A child that another thread forks during ptrc_liveness_take() would inherit the descriptor and
 * keep the lock. The fork handlers prevent that: they call ptrc_liveness_fork_prepare() before a
 * fork and ptrc_liveness_fork_done() after it, with signals blocked. */
void ptrc_liveness_fork_prepare(void);
void ptrc_liveness_fork_done(void);

/* Takes a place for a stream of the caller's effective user. A user has TRACE_SYS_MAX = 64
 * places, and so at most 64 streams; a place is a lock on a byte of the file `slots` in the
 * user's directory. EAGAIN: all places are taken. EPERM, ENOMEM. */
PTRC_MUST_CHECK int ptrc_liveness_take_place(struct ptrc_liveness *l);
/* Drops the place, and removes the file if no process holds a place in it. */
void ptrc_liveness_drop_place(struct ptrc_liveness *l);
/* The number of places that are taken in the directory. */
unsigned int ptrc_liveness_count_places(int dirfd, uint32_t uid);

/* The name of the file of the places. ptrc_liveness_clean_places() removes this file if no
 * process holds a place in it. */
#define PTRC_LIVE_PLACES "slots"
void ptrc_liveness_clean_places(int dirfd, uint32_t uid);

#endif
