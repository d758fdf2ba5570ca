/* SPDX-License-Identifier: MIT */
/*
 * A lock in shared memory, for threads of any process, which hold it for microseconds. The word of
 * the lock is the ID of the thread that holds it, or 0. If that thread has died, the next thread
 * that wants the lock takes it, and may find work that the dead thread left half done. The
 * functions make raw system calls only.
 */
#ifndef PTRC_LIB_BASE_TID_LOCK_H
#define PTRC_LIB_BASE_TID_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/base/timespec.h"

static inline bool ptrc_tid_lock_take(_Atomic uint32_t *lock, uint32_t *holder)
{
	return ptrc_cas(lock, holder, (uint32_t)ptrc_sys_gettid());
}

/* Takes the lock. Returns false if that does not succeed within wait_ns nanoseconds. If *holder is
 * then the ID of a living thread, that thread is stopped; if it is 0 or the ID of no thread, the
 * shared memory is damaged. */
static inline bool ptrc_tid_lock(_Atomic uint32_t *lock, int64_t wait_ns, uint32_t *holder)
{
	int64_t begin_ns = 0, now_ns;

	for (unsigned tries = 1;; tries++) {
		*holder = 0;
		if (ptrc_tid_lock_take(lock, holder))
			return true;
		if (tries % 64 == 0) {
			if (ptrc_thread_is_dead((int)*holder) && ptrc_tid_lock_take(lock, holder))
				return true;
			now_ns = ptrc_clock_ns(CLOCK_MONOTONIC);
			if (begin_ns == 0)
				begin_ns = now_ns;
			if (now_ns - begin_ns > wait_ns)
				return false;
		}
		ptrc_file_yield(tries);
	}
}

static inline void ptrc_tid_unlock(_Atomic uint32_t *lock)
{
	ptrc_store_release(lock, 0);
}

#endif
