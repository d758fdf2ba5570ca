/* SPDX-License-Identifier: MIT */
/* Functions that find out whether a thread of any process has ended, for example the thread that
 * holds a lock in shared memory. They are too slow to be called for each event. */
#ifndef PTRC_LIB_BASE_THREAD_LIFE_H
#define PTRC_LIB_BASE_THREAD_LIFE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/procfs.h"
#include "lib/base/sys.h"

/* True if no thread has this ID now. If another thread has reused the ID, the function returns
 * false. */
static inline bool ptrc_thread_is_gone(int tid)
{
	return tid > 0 && ptrc_sys(SYS_tkill, tid, 0) == -ESRCH;
}

/* Like ptrc_thread_is_gone(), but also true for a zombie: a dead process that its parent has not
 * waited for yet. Takes a few microseconds. */
static inline bool ptrc_thread_is_dead(int tid)
{
	bool is_dead;
	long fd;

	if (ptrc_thread_is_gone(tid))
		return true;
	/* Only the first thread of a process can be a zombie, and a pidfd exists only for a first
	 * thread. */
	fd = ptrc_sys(SYS_pidfd_open, tid, 0);
	if (fd < 0)
		return false;
	is_dead = ptrc_procfs_has_ended((int)fd);
	ptrc_sys(SYS_close, fd);
	return is_dead;
}

/* Whether the thread that had this ID at the time claim_ms (CLOCK_BOOTTIME) has ended. A zombie
 * counts as ended: a dead process that its parent has not waited for, or a first thread that
 * ended before the other threads of its process. If the thread that has this ID now started after
 * claim_ms, it has reused the ID; two ticks allow for rounding. The function reads /proc, which
 * is slow, so it is called only if there is a reason to suspect that the thread has ended. */
static inline bool ptrc_thread_has_ended(int tid, uint64_t claim_ms)
{
	struct ptrc_procfs_stat st;

	/* ptrc_thread_is_dead() comes first, because it works even where /proc is not mounted. */
	return ptrc_thread_is_dead(tid) ||
	       (tid > 0 && ptrc_procfs_stat(tid, &st) == 0 &&
		(st.has_ended || st.start_ticks > claim_ms / (PTRC_PROCFS_TICK_NS / 1000000) + 2));
}

#endif
