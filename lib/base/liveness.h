/* SPDX-License-Identifier: MIT */
/*
 * "This process still lives": an OFD write lock held by a mapping. The kernel drops it on
 * exit, exec and SIGKILL alike, and no child keeps it.
 *
 * Bytes of a stream object: 0 its controller, 1 its keeper, 2 whoever cleans up.
 */
#ifndef PTRC_LIB_BASE_LIVENESS_H
#define PTRC_LIB_BASE_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

#define PTRC_LIVE_CONTROLLER 0
#define PTRC_LIVE_KEEPER 1
#define PTRC_LIVE_CLEANER 2

struct ptrc_liveness {
	void *map;    /* null: not held */
	uint32_t uid; /* a place: whose directory it is in */
};

/* Take the byte of the file `name` in dirfd. EAGAIN if another holds it; ENOENT, EPERM,
 * ENOMEM. A new open file description is made and only the mapping keeps it. Raw system
 * calls only. */
int ptrc_liveness_take(int dirfd, const char *name, uint64_t byte,
		       struct ptrc_liveness *l) PTRC_NONNULL() PTRC_MUST_CHECK;
void ptrc_liveness_drop(struct ptrc_liveness *l) PTRC_NONNULL();
/* fork child: the mapping is not there (MADV_DONTFORK); forget it. */
void ptrc_liveness_forget(struct ptrc_liveness *l) PTRC_NONNULL();
/* Does anybody hold any byte of [byte, byte + count)? */
bool ptrc_liveness_is_held(int fd, uint64_t byte, uint64_t count);

/* A child forked while another thread is in ptrc_liveness_take would share the lock for
 * ever. So pthread_atfork's handlers keep fork out: prepare with signals blocked, then one
 * of the others. */
void ptrc_liveness_fork_prepare(void);
void ptrc_liveness_fork_done(void);

/* One of the 64 = TRACE_SYS_MAX places of the caller's effective user (file `slots` in that
 * user's own directory): EAGAIN when all are taken. EPERM, ENOMEM. */
int ptrc_liveness_take_place(struct ptrc_liveness *l) PTRC_NONNULL() PTRC_MUST_CHECK;
/* Drop it, and remove the file `slots` when nobody holds a place. */
void ptrc_liveness_drop_place(struct ptrc_liveness *l) PTRC_NONNULL();
/* How many of them are taken in the directory. */
unsigned int ptrc_liveness_count_places(int dirfd, uint32_t uid);

/* For sweeps: remove the file, open on fd, if nobody holds a place. Signals are blocked. */
#define PTRC_LIVE_PLACES "slots"
void ptrc_liveness_clean_places(int dirfd, int fd);

#endif
