/* SPDX-License-Identifier: MIT */
/*
 * Orphans: streams whose controller (and keeper, if there is a log) are dead. What their targets
 * recorded before a crash stands in them, so they are not removed in silence. A process that finds
 * one puts it aside: the object s.<id> becomes o.<id>, which no process maps, and which does not
 * count as a stream any more.
 *
 * A create finishes the logs of orphans. What cannot be finished, and plain streams with events
 * that nobody has read, stay until somebody salvages or discards them, or until there are too many:
 * at most PTRC_ORPHAN_LOGGED_MAX and PTRC_ORPHAN_PLAIN_MAX, and the plain ones have at most half
 * of /dev/shm together. Beyond that the oldest one is dropped, and the file `dropped` says so.
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

/* The parts of a stream's header that matter here: the whole is too large for the stack of a
 * signal handler. */
struct ptrc_orphan_facts {
	bool is_known; /* its layout is that of this library; else the rest is 0 */
	bool has_log;
	bool has_begun_log; /* a keeper has begun to write it */
	bool has_killed_keepers;
	int32_t controller;
	int64_t created_s;
	uint64_t names_id;
};
/* False: the object has no header yet. */
PTRC_NONNULL()
PTRC_MUST_CHECK bool ptrc_orphan_read(int fd, uint64_t id, struct ptrc_orphan_facts *f);

/* Takes the cleaner's lock. Another process may have it, and be writing the stream's log; it is
 * waited for, but only for a second, because it may be stopped. The caller blocks signals. */
bool ptrc_orphan_lock(int fd);
void ptrc_orphan_unlock(int fd);

/* The next ones are called with the lock, when controller and keeper are known to be dead. */

/* Ends the stream, so that processes that still record into it unmap it. */
void ptrc_orphan_end(int fd);
/* Can there be events that were not read (plain) or a log to be finished? A create that waits for
 * its keeper to begin the log has recorded nothing. True if it is not known. */
PTRC_NONNULL() bool ptrc_orphan_has_events(int fd, const struct ptrc_orphan_facts *f);
/* Ends s.<id> and makes it o.<id>. */
void ptrc_orphan_put_aside(int dirfd, uint64_t id, int fd);
/* Finishes the log of o.<id> (ptrc_keeper_finish_orphan) and removes the stream, or returns why
 * it stays. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_orphan_finish(int dirfd, uint32_t uid, uint64_t id, int fd,
				       const struct ptrc_keeper_orders *orders);

/* Drops the oldest orphans that are too many. Only the user himself does that. */
void ptrc_orphan_limit(int dirfd, uint32_t uid);
/* Drops the oldest plain orphan, for its room. False: there is none. */
bool ptrc_orphan_make_room(int dirfd, uint32_t uid);
/* Does an orphan that was put aside need the names object? */
bool ptrc_orphan_needs_names(int dirfd, uint32_t uid, uint64_t names_id);

/* ---- for the caller's effective user; not for signal handlers ---- */

struct posixtrace_orphan;

/* What is known of the orphan with this number. ENOENT: there are not so many. EPERM, ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_orphan_tell(unsigned int number, struct posixtrace_orphan *orphan);
/* ESRCH: no such orphan. EBUSY: its controller lives, or another process is at it. Others:
 * ptrc_orphan_finish(). */
PTRC_NONNULL(2)
PTRC_MUST_CHECK int ptrc_orphan_salvage(uint64_t id, const struct ptrc_keeper_orders *orders);
PTRC_MUST_CHECK int ptrc_orphan_discard(uint64_t id);
/* How many were dropped; is_forgetting: none from now on. */
unsigned int ptrc_orphan_count_dropped(int dirfd, uint32_t uid, bool is_forgetting);

#endif
