/* SPDX-License-Identifier: MIT */
/*
 * A lock among the threads of one process, for sections of microseconds in which signals are
 * blocked. It is made of raw system calls only, so it is usable in signal handlers.
 *
 * Its word holds the pid of the process while a thread has the lock, and 0 while it is free. A
 * child that is forked while another thread has the lock finds its parent's pid there. That
 * counts as free, as no thread of the child has the lock.
 */
#ifndef PTRC_LIB_BASE_PID_LOCK_H
#define PTRC_LIB_BASE_PID_LOCK_H

#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/base/sys.h"

static inline void ptrc_pid_lock(_Atomic int32_t *lock)
{
	int32_t self = ptrc_sys_getpid(), seen = 0;

	/* If another pid than ours was seen, the next round replaces just that one. */
	for (unsigned tries = 1; !atomic_compare_exchange_strong_explicit(
		     lock, &seen, self, memory_order_acquire, memory_order_relaxed);
	     tries++) {
		if (seen == self) {
			ptrc_file_yield(tries);
			seen = 0;
		}
	}
}

static inline void ptrc_pid_unlock(_Atomic int32_t *lock)
{
	ptrc_store_release(lock, 0);
}

#endif
