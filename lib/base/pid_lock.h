/* SPDX-License-Identifier: MIT */
/*
 * A lock for the threads of one process. A thread holds it for microseconds, with signals
 * blocked. Taking it makes raw system calls only, so signal handlers can use it.
 *
 * The word of the lock is the pid of the process while a thread holds the lock, and 0 while the
 * lock is free. If a process forks while another of its threads holds the lock, the child finds its
 * parent's pid in the word. For the child the lock is then free, because the child does not have
 * the thread that holds it.
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

	/* If the word is the pid of another process (the parent, after a fork), ptrc_cas() has
	 * stored that pid in `seen`, and the next round replaces it. */
	for (unsigned tries = 1; !ptrc_cas(lock, &seen, self); tries++) {
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
