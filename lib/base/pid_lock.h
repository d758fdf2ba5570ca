/* SPDX-License-Identifier: MIT */
/*
 * A lock for the threads of one process. A thread holds it for microseconds, with signals
 * blocked. Taking it makes raw system calls only, so signal handlers can use it.
 *
 * Its word is the pid of the process while a thread holds the lock, and 0 while it is free. A
 * child forked while another thread holds the lock finds its parent's pid there. That counts as
 * free, because the holder does not exist in the child.
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

	/* If the word holds another process's pid, the next round expects this pid and replaces
	 * it. */
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
