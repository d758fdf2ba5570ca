/* SPDX-License-Identifier: MIT */
/* Macros that disable cancellation, or lock a mutex, up to the end of the enclosing block. */
#ifndef PTRC_LIB_BASE_SCOPE_H
#define PTRC_LIB_BASE_SCOPE_H

#include <pthread.h>

#include "lib/base/common.h"

static inline int ptrc_cancel_disable(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void ptrc_cancel_restore(const int *state)
{
	pthread_setcancelstate(*state, NULL);
}

/* The thread cannot be cancelled up to the end of the block. */
#define PTRC_NO_CANCEL() \
	PTRC_CLEANUP(ptrc_cancel_restore) const int cancel_state_ = ptrc_cancel_disable()

static inline pthread_mutex_t *ptrc_mutex_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void ptrc_mutex_unlock(pthread_mutex_t *const *mutex)
{
	pthread_mutex_unlock(*mutex);
}

/* Locks the mutex up to the end of the block. */
#define PTRC_LOCK(mutex) PTRC_LOCK_AS(mutex, __COUNTER__)
#define PTRC_LOCK_AS(mutex, number) PTRC_LOCK_NAMED(mutex, number)
#define PTRC_LOCK_NAMED(mutex, number)  \
	PTRC_CLEANUP(ptrc_mutex_unlock) \
	pthread_mutex_t *const locked_##number = ptrc_mutex_lock(mutex)

#endif
