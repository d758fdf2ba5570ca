/* SPDX-License-Identifier: MIT */
/*
 * A lock that tells other processes that its holder lives: an OFD write lock on a byte of a
 * file, of an open file that only a mapping keeps open. The kernel drops it when the process
 * ends in any way, or executes another program; and no child keeps it, as the mapping is not
 * copied by a fork.
 */
#ifndef PTRC_LIB_BASE_LIVENESS_H
#define PTRC_LIB_BASE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

/* Bytes of a stream object. */
#define PTRC_LIVE_CONTROLLER 0
#define PTRC_LIVE_KEEPER 1
#define PTRC_LIVE_CLEANER 2 /* held by a process that removes the stream of dead ones */

struct ptrc_liveness {
	void *map;    /* null: not held */
	uint32_t uid; /* of a place: the user whose directory it is in */
};

/* Locks a byte of the file `name` in dirfd. EAGAIN: another process holds it; ENOENT, EPERM,
 * ENOMEM. Raw system calls only. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_liveness_take(int dirfd, const char *name, uint64_t byte,
				       struct ptrc_liveness *l);
PTRC_NONNULL() void ptrc_liveness_drop(struct ptrc_liveness *l);
/* Does any process hold a byte of [byte, byte + count)? */
bool ptrc_liveness_is_held(int fd, uint64_t byte, uint64_t count);

/* A child that is forked while another thread is in ptrc_liveness_take() would have a
 * descriptor of the open file, and so keep the lock. So the fork handlers call the first before
 * the fork, with signals blocked, and the second behind it. */
void ptrc_liveness_fork_prepare(void);
void ptrc_liveness_fork_done(void);

/* A user has TRACE_SYS_MAX = 64 places for streams: bytes of the file `slots` in the user's
 * directory. Takes one for the caller's effective user. EAGAIN: all are taken; EPERM,
 * ENOMEM. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_liveness_take_place(struct ptrc_liveness *l);
/* Drops it, and removes the file if no process holds a place. */
PTRC_NONNULL() void ptrc_liveness_drop_place(struct ptrc_liveness *l);
/* How many places are taken in the directory. */
unsigned int ptrc_liveness_count_places(int dirfd, uint32_t uid);

/* Removes the file, which fd is open on, if no process holds a place. Signals are blocked. */
#define PTRC_LIVE_PLACES "slots"
void ptrc_liveness_clean_places(int dirfd, int fd);

#endif
