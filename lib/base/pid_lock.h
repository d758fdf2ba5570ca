/* SPDX-License-Identifier: MIT */
/*
 * A lock among the threads of one process, for sections of microseconds in which signals are
 * blocked. It is made of raw system calls only, so it is usable in signal handlers.
 *
 * It holds the pid of the process, one thread of which has it; 0 if it is free. A child that is
 * forked while another thread has the lock finds its parent's pid there, which counts as free:
 * no thread of the child has it.
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

	/* A pid other than ours is taken for 0 in the next round, if it is still there. */
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
