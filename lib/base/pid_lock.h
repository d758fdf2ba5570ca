/* SPDX-License-Identifier: MIT */
/*
 * A lock among the threads of a process, with raw system calls only: held for microseconds
 * and with signals blocked. It holds the pid of the process, 0 nobody's: what a raw clone of
 * the process finds in its copy is not its own pid, and counts for nothing.
 */
#ifndef PTRC_LIB_BASE_PID_LOCK_H
#define PTRC_LIB_BASE_PID_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/file.h"
#include "lib/base/sys.h"

static inline void ptrc_pid_lock(_Atomic int32_t *lock)
{
	int32_t self = ptrc_sys_getpid(), seen = 0;

	while (!atomic_compare_exchange_strong_explicit(
		lock, &seen, self, memory_order_acquire, memory_order_relaxed)) {
		if (seen == self) {
			ptrc_file_sleep_ns(20000);
			seen = 0;
		}
	}
}

static inline void ptrc_pid_unlock(_Atomic int32_t *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
}

#endif
