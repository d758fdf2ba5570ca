/* SPDX-License-Identifier: MIT */
/* Whether a thread has ended: asked about the owners of slots, chunks and locks, never on the
 * event path. */
#ifndef PTRC_LIB_BASE_THREAD_LIFE_H
#define PTRC_LIB_BASE_THREAD_LIFE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/procfs.h"
#include "lib/base/sys.h"

/* True if no thread has this ID. A reused ID counts as alive. */
static inline bool ptrc_thread_is_gone(int tid)
{
	return tid > 0 && ptrc_sys(SYS_tkill, tid, 0) == -ESRCH;
}

/* True also for a dead process that its parent has not waited for yet. Takes a few microseconds. */
static inline bool ptrc_thread_is_dead(int tid)
{
	bool is_dead;
	long fd;

	if (ptrc_thread_is_gone(tid))
		return true;
	/* Only the first thread of a process can be a zombie, and only that one has a pidfd. */
	fd = ptrc_sys(SYS_pidfd_open, tid, 0);
	if (fd < 0)
		return false;
	is_dead = ptrc_procfs_has_ended((int)fd);
	ptrc_sys(SYS_close, fd);
	return is_dead;
}

/* Whether the thread has ended that had this ID at claim_ms of CLOCK_BOOTTIME. A zombie has: a
 * dead process that its parent has not waited for, or a first thread that ended before the
 * others of its process. A thread that was born after the claim has reused the ID; two ticks
 * allow for rounding. Reads /proc, so it is asked only for a reason. */
static inline bool ptrc_thread_has_ended(int tid, uint64_t claim_ms)
{
	struct ptrc_procfs_stat st;

	/* The first question has an answer even where /proc has none. */
	return ptrc_thread_is_dead(tid) ||
	       (tid > 0 && ptrc_procfs_stat(tid, &st) == 0 &&
		(st.has_ended || st.start_ticks > claim_ms / (PTRC_PROCFS_TICK_NS / 1000000) + 2));
}

#endif
