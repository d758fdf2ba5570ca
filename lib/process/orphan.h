/* SPDX-License-Identifier: MIT */
/*
 * Orphans: streams whose controller (and keeper, if there is a log) are dead. They hold what
 * their targets recorded before the crash, so they are not removed silently. A process that finds
 * one puts it aside: it renames the object s.<id> to o.<id>, which no process maps and which does
 * not count as a stream any more.
 *
 * A create finishes the logs of orphans. Those that cannot be finished, and streams without a log
 * that hold unread events ("plain" orphans), stay until the user salvages or discards them, or
 * until there are too many: at most PTRC_ORPHAN_LOGGED_MAX and PTRC_ORPHAN_PLAIN_MAX, and the
 * plain ones take at most half of /dev/shm together. Beyond that the oldest one is dropped and
 * noted in the file `dropped`.
 *
 * These functions take the cleaner's lock of an orphan where they need it. Raw system calls only.
 */
#ifndef PTRC_LIB_PROCESS_ORPHAN_H
#define PTRC_LIB_PROCESS_ORPHAN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/keeper/keeper.h"

#define PTRC_ORPHAN_LOGGED_MAX 64U
#define PTRC_ORPHAN_PLAIN_MAX 8U

/* The parts of a stream's header that matter here: all of it is too large for the stack of a
 * signal handler. */
struct ptrc_orphan_facts {
	bool is_known; /* its layout is that of this library; else all other members are 0 */
	bool has_log;
	bool has_begun_log; /* a keeper has started to write the log */
	bool has_killed_keepers;
	int32_t controller;
	int64_t created_s, created_ns; /* seconds, and nanoseconds after these */
	uint64_t names_id;
};
/* Returns false if the object has no header yet. */
PTRC_NONNULL()
PTRC_MUST_CHECK bool ptrc_orphan_read(int fd, uint64_t id, struct ptrc_orphan_facts *f);

/* Takes the cleaner's lock and blocks signals until it is released. Waits at most one second for
 * another process, which may be writing the stream's log, because that process may be stopped. */
bool ptrc_orphan_lock(int fd, uint64_t *mask);
void ptrc_orphan_unlock(int fd, const uint64_t *mask);

/* The caller of the next functions holds the lock and knows that controller and keeper are
 * dead. */

/* Ends the stream, so that processes that still record into it unmap it. */
void ptrc_orphan_end(int fd);
/* Can there be unread events (plain) or a log to be finished? A create that still waits for its
 * keeper to start the log has recorded nothing. True if it is not known. */
PTRC_NONNULL() bool ptrc_orphan_has_events(int fd, const struct ptrc_orphan_facts *f);
/* Ends s.<id> and makes it o.<id>. */
void ptrc_orphan_put_aside(int dirfd, uint64_t id, int fd);
/* Finishes the log of o.<id> (ptrc_keeper_finish_orphan) and removes the stream; if that fails,
 * returns the reason and the stream stays. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_orphan_finish(int dirfd, uint32_t uid, uint64_t id, int fd,
				       const struct ptrc_keeper_orders *orders);

/* Drops the oldest orphans beyond the limits. Does nothing unless uid is the caller's. */
void ptrc_orphan_limit(int dirfd, uint32_t uid);
/* Drops the oldest plain orphan to free its memory. Returns false if there is none. */
bool ptrc_orphan_make_room(int dirfd, uint32_t uid);
/* Does an orphan that was put aside need the names object? */
bool ptrc_orphan_needs_names(int dirfd, uint32_t uid, uint64_t names_id);

/* ---- for the caller's effective user; not for signal handlers ---- */

struct posixtrace_orphan;

/* Describes the orphan with this number, counted from 0. ENOENT: there are fewer. EPERM,
 * ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_orphan_tell(unsigned int number, struct posixtrace_orphan *orphan);
/* Finishes the orphan's log, or discards the orphan if orders is NULL. ESRCH: no such orphan.
 * EBUSY: its controller lives, or another process works on it. Other errors:
 * ptrc_orphan_finish(). */
PTRC_MUST_CHECK int ptrc_orphan_salvage(uint64_t id, const struct ptrc_keeper_orders *orders);
/* How many orphans were dropped; is_forgetting: the count restarts from 0. */
unsigned int ptrc_orphan_count_dropped(int dirfd, uint32_t uid, bool is_forgetting);

#endif
