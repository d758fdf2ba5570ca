/* SPDX-License-Identifier: MIT */
/*
 * A mutex that a fork waits for, so that the child has a complete copy of the data that the
 * mutex protects.
 *
 * fork() is async-signal-safe: a signal handler may fork while its own thread holds the mutex
 * or waits for it. So each thread counts how deep it is inside, and a fork does not wait for a
 * mutex that only its own thread could unlock. The child of such a fork has a copy that may be
 * incomplete at any instruction, and must do nothing with it but throw it away.
 *
 * The count also lets fork handlers of the application that run between the library's own
 * handler and the fork (those registered before the library was loaded) call the library.
 */
#ifndef PTRC_LIB_BASE_FORK_MUTEX_H
#define PTRC_LIB_BASE_FORK_MUTEX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* `depth` is the calling thread's count. */
static inline void ptrc_fork_mutex_lock(pthread_mutex_t *mutex, volatile unsigned *depth)
{
	/* The count goes first: once the mutex is locked, a handler of this thread must not
	 * wait for it. */
	*depth += 1;
	atomic_signal_fence(memory_order_seq_cst);
	if (*depth == 1)
		pthread_mutex_lock(mutex);
}

static inline void ptrc_fork_mutex_unlock(pthread_mutex_t *mutex, volatile unsigned *depth)
{
	if (*depth == 1)
		pthread_mutex_unlock(mutex);
	atomic_signal_fence(memory_order_seq_cst);
	*depth -= 1;
}

/* For the child of a fork, in which no other thread exists. is_locked: the fork handler called
 * ptrc_fork_mutex_lock() before the fork. If the fork went past the fork handlers it did not.
 * If a signal handler forked, the code that it interrupted may go on in the child, and
 * unlock. */
static inline void ptrc_fork_mutex_renew(pthread_mutex_t *mutex, volatile unsigned *depth,
					 bool is_locked)
{
	pthread_mutex_init(mutex, NULL);
	if (is_locked)
		*depth -= 1;
}

#endif
