/* SPDX-License-Identifier: MIT */
/*
 * A mutex that fork() has to find free, so that a child's copy of what it protects is whole.
 *
 * A handler may fork while its own thread has the mutex, or waits for it: fork() is
 * async-signal-safe. So a thread counts how deep it is inside, and fork() does not wait for
 * what only its own thread could give back. What is protected must then be fit to be thrown
 * away at any instruction, and that is all a child does with it. The count also lets
 * handlers of pthread_atfork that run between ours and the fork call us (those that were
 * registered before the library was loaded).
 */
#ifndef PTRC_LIB_BASE_FORK_MUTEX_H
#define PTRC_LIB_BASE_FORK_MUTEX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* depth: a variable of the thread. */
static inline void ptrc_fork_mutex_lock(pthread_mutex_t *mutex, volatile unsigned *depth)
{
	/* Before it is locked: from then on a handler must not wait for it. */
	*depth += 1;
	atomic_signal_fence(memory_order_seq_cst);
	if (*depth == 1)
		pthread_mutex_lock(mutex);
}

static inline void ptrc_fork_mutex_unlock(pthread_mutex_t *mutex,
					  volatile unsigned *depth)
{
	if (*depth == 1)
		pthread_mutex_unlock(mutex);
	atomic_signal_fence(memory_order_seq_cst);
	*depth -= 1;
}

/* In the child, where nobody else is. is_locked: by ptrc_fork_mutex_lock() before the fork,
 * which was not made past the handlers. What the handler that forked has interrupted may go
 * on here, and unlock. */
static inline void ptrc_fork_mutex_renew(pthread_mutex_t *mutex, volatile unsigned *depth,
					 bool is_locked)
{
	pthread_mutex_init(mutex, NULL);
	if (is_locked)
		*depth -= 1;
}

#endif
