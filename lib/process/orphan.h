/* SPDX-License-Identifier: MIT */
/*
 * Orphans: streams whose controller, and keeper if there is a log, are dead. They may hold events
 * that no process has read and that are in no log, so they are not simply removed. A process that
 * finds such a stream puts it aside: it renames the object s.<id> to o.<id>, which no process maps
 * and which does not count as a stream any more.
 *
 * A process that creates a stream first finishes the logs of orphans. Two kinds of orphans stay: orphans whose
 * logs cannot be finished, and orphans without a log that hold unread events ("plain" orphans). They stay
 * until the user salvages or discards them, or until there are too many: at most PTRC_ORPHAN_LOGGED_MAX and
 * PTRC_ORPHAN_PLAIN_MAX, and the plain ones take at most half of /dev/shm together. If there are more, the
 * oldest one is dropped and noted in the file `dropped`.
 *
 * The cleaner's lock is a lock on a byte of the stream's file (PTRC_LIVE_CLEANER). A process holds
 * it while it puts an orphan aside, finishes its log or removes it. The functions use raw system
 * calls only.
 */
#ifndef PTRC_LIB_PROCESS_ORPHAN_H
#define PTRC_LIB_PROCESS_ORPHAN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/keeper/keeper.h"

#define PTRC_ORPHAN_LOGGED_MAX 64U
#define PTRC_ORPHAN_PLAIN_MAX 8U

/* The members of a stream's header that matter for an orphan (stream of a dead controller). The whole header is
 * too large for the stack of a signal handler. */
struct ptrc_orphan_facts {
	uint32_t version; /* version of the stream's layout */
	/* The version is known and the header could be read; if not, only `version` is set. */
	bool is_known;
	bool has_log;
	bool has_begun_log; /* a keeper has started to write the log */
	bool has_killed_keepers;
	int32_t controller;
	int64_t created_s, created_ns; /* creation: seconds since the Epoch, and ns */
	uint64_t names_id;
};
/* Reads the facts of the stream from its object `fd`. Returns false if the object has no header yet. */
PTRC_NONNULL()
PTRC_MUST_CHECK bool ptrc_orphan_read(int fd, uint64_t id, struct ptrc_orphan_facts *f);

/* Takes the cleaner's lock, and blocks signals until the lock is released. Another process may hold the lock
 * while it writes the stream's log. As that process may be stopped, the wait is at most one second. False:
 * the lock was not taken. */
bool ptrc_orphan_lock(int fd, uint64_t *mask);
void ptrc_orphan_unlock(int fd, const uint64_t *mask);

/* The caller of the following functions holds the cleaner's lock, and has found out that the
 * controller and the keeper of the stream are dead. */

/* Ends the stream, so that processes that still record into it unmap it. */
void ptrc_orphan_end(int fd);
/* Whether the orphan has something to keep: unread events or, if it has a log, a log that must be
 * finished. A log that no keeper had started when the controller died need not be finished, because
 * nothing was recorded. Returns true if the stream cannot be mapped. */
PTRC_NONNULL() bool ptrc_orphan_has_events(int fd, const struct ptrc_orphan_facts *f);
/* Renames the stream s.<id> to o.<id>, notes how many processes still record into it, and ends it. Does nothing
 * to one that was put aside before. */
void ptrc_orphan_put_aside(int dirfd, uint64_t id, int fd);
/* Finishes the log of o.<id> (ptrc_keeper_finish_orphan) and removes the stream. If that fails, the stream
 * stays, and the reason is returned. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_orphan_finish(int dirfd, uint32_t uid, uint64_t id, int fd,
				       const struct ptrc_keeper_orders *orders);

/* Drops (removes, with their events) the oldest orphans, streams of dead controllers, if there are more than
 * the limits allow. Does nothing unless uid is that of the caller. */
void ptrc_orphan_limit(int dirfd, uint32_t uid);
/* Drops the oldest orphan without a log to free its memory, for a caller that needs `bytes` bytes.
 * Returns false if there is no such orphan, if another process works on it, or if fewer than
 * `bytes` bytes would be free even without all such orphans. */
bool ptrc_orphan_make_room(int dirfd, uint32_t uid, uint64_t bytes);
/* Unlinks the names object (table of event names) with this id if no process uses it, and no stream: who salvages the
 * stream of a dead controller needs its names. */
void ptrc_orphan_release_names(int dirfd, uint32_t uid, uint64_t names_id);

/* ---- for the effective user of the caller; not for signal handlers ---- */

struct posixtrace_orphan;

/* Describes the orphan with this number; orphans are counted from 0. ENOENT: there are fewer orphans. Other
 * errors: EPERM, ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_orphan_tell(unsigned int number, struct posixtrace_orphan *orphan);
/* Finishes the orphan's log. If `orders` is NULL, discards the orphan instead. ESRCH: there is no
 * such orphan. EBUSY: its controller or keeper lives, or another process works on it. ENOTSUP: this
 * library does not know the stream's version. EDESTADDRREQ: the orphan has no log, and `orders` has
 * no path. Other errors: EPERM, ENOMEM, and those of ptrc_orphan_finish(). */
PTRC_MUST_CHECK int ptrc_orphan_salvage(uint64_t id, const struct ptrc_keeper_orders *orders);
/* Returns how many orphans were dropped because there were too many. If is_forgetting, counting starts again
 * from 0. */
unsigned int ptrc_orphan_count_dropped(int dirfd, uint32_t uid, bool is_forgetting);

#endif
