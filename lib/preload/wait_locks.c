/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of functions that wait for locks and threads. Where the C library can try to take a lock
 * without waiting, the wrapper first tries that: for a free lock no event is recorded.
 */
#include "config.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <threads.h>

#include "lib/base/sys.h"
#include "lib/preload/descriptors.h"
#include "lib/preload/next_function.h"
#include "lib/preload/wait_calls.h"
#include "lib/preload/waits.h"

/* How a wrapped function reports an error. */
enum outcome {
	RETURNS_ERROR, /* returns the error number */
	SETS_ERRNO,    /* returns -1 and sets errno */
	RETURNS_OTHER, /* reports no error number (<threads.h>) */
};

/* Calls a function that may wait, with events at its start and end. */
static PTRC_NOINLINE PTRC_NO_STACK_PROTECTOR int wait_for(uint32_t call, ptrc_function *function,
							  const long arguments[4], int32_t holder,
							  enum outcome outcome, uint64_t call_site)
{
	bool is_recorded =
		ptrc_wait_is_recorded(PTRC_WAIT_BIT(LOCK)) && !ptrc_wait_is_own(call_site);
	int result;

	if (is_recorded)
		ptrc_wait_begin_lock(call, holder, (uint64_t)arguments[0], call_site);
	result = (int)function(arguments[0], arguments[1], arguments[2], arguments[3], 0, 0);
	if (is_recorded)
		ptrc_wait_end(PTRC_WAIT_LOCK, result,
			      outcome == SETS_ERRNO && result < 0      ? errno
			      : outcome == RETURNS_ERROR && result > 0 ? result
								       : 0,
			      call_site);
	return result;
}

/* The ID of the thread that holds a mutex. Usually it is in __owner. For robust and
 * priority-inheriting mutexes it is in the futex word __lock: the kernel gives these to the next
 * thread, which sets __owner only when it runs. */
static int32_t owner_of_mutex(long mutex)
{
	enum { ROBUST = 16, INHERITS = 32 };
	const pthread_mutex_t *m = (const pthread_mutex_t *)mutex;

	return m->__data.__kind & (ROBUST | INHERITS)
		       ? (int32_t)((uint32_t)m->__data.__lock & FUTEX_TID_MASK)
		       : m->__data.__owner;
}

/* The ID of the thread that holds a lock for writing. If it is held for reading, this is 0: readers
 * are not known. */
static int32_t owner_of_rwlock(long lock)
{
	return ((const pthread_rwlock_t *)lock)->__data.__cur_writer;
}

/* The ID of the thread for whose end pthread_join() waits. It is in the C library's structure to
 * which a pthread_t points, PLACE bytes from its start. PLACE may be wrong for another version of
 * the C library; this is checked with the calling thread's own ID. 0: unknown. */
static int32_t owner_of_thread(long thread)
{
#if defined(__x86_64__)
	enum { PLACE = 720 };
#else
	enum { PLACE = 208 };
#endif
	long own = (long)pthread_self();

	if (*(const volatile int32_t *)(own + PLACE) != ptrc_sys_gettid())
		return 0;
	return *(const volatile int32_t *)(thread + PLACE);
}

static int32_t no_owner(long object)
{
	(void)object;
	return 0;
}

#define ARGUMENTS ((const long[4]){a, b, c, d})

/* Wraps a function that has no variant which only tries, as pthread_mutex_trylock() does: whether a
 * call will wait cannot be known before it, so each call is recorded. */
#define WAITS(name, owner, outcome)                                                            \
	PTRC_WRAPPER(name)                                                                     \
	{                                                                                      \
		ptrc_function *function = PTRC_NEXT_OR(#name, ptrc_function_error);            \
                                                                                               \
		if (!ptrc_wait_is_selected(PTRC_WAIT_BIT(LOCK)))                               \
			return function(a, b, c, d, e, f);                                     \
		return wait_for(PTRC_WAIT_CALL_##name, function, ARGUMENTS, owner(a), outcome, \
				PTRC_CALL_SITE);                                               \
	}

/* Wraps a function that waits only if `attempt`, a function with the same first one or two
 * arguments, returns `busy`. If the C library lacks `attempt` (ENOSYS), the lock counts as busy. */
#define TRIES(name, attempt, busy, owner, outcome)                                               \
	PTRC_WRAPPER(name)                                                                       \
	{                                                                                        \
		int result;                                                                      \
                                                                                                 \
		if (PTRC_UNLIKELY(!ptrc_wait_is_selected(PTRC_WAIT_BIT(LOCK))))                  \
			return PTRC_NEXT_OR(#name, ptrc_function_error)(a, b, c, d, e, f);       \
		result = (int)PTRC_NEXT_OR(#attempt, ptrc_function_error)(a, b, 0, 0, 0, 0);     \
		if (PTRC_LIKELY(!result) || (result != (busy) && result != ENOSYS))              \
			return result;                                                           \
		return wait_for(PTRC_WAIT_CALL_##name, PTRC_NEXT_OR(#name, ptrc_function_error), \
				ARGUMENTS, owner(a), outcome, PTRC_CALL_SITE);                   \
	}

TRIES(pthread_mutex_lock, pthread_mutex_trylock, EBUSY, owner_of_mutex, RETURNS_ERROR)
TRIES(pthread_mutex_timedlock, pthread_mutex_trylock, EBUSY, owner_of_mutex, RETURNS_ERROR)
TRIES(pthread_mutex_clocklock, pthread_mutex_trylock, EBUSY, owner_of_mutex, RETURNS_ERROR)
TRIES(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, EBUSY, owner_of_rwlock, RETURNS_ERROR)
TRIES(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, EBUSY, owner_of_rwlock, RETURNS_ERROR)
TRIES(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, EBUSY, owner_of_rwlock, RETURNS_ERROR)
TRIES(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, EBUSY, owner_of_rwlock, RETURNS_ERROR)
TRIES(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, EBUSY, owner_of_rwlock, RETURNS_ERROR)
TRIES(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, EBUSY, owner_of_rwlock, RETURNS_ERROR)
TRIES(pthread_join, pthread_tryjoin_np, EBUSY, owner_of_thread, RETURNS_ERROR)
TRIES(pthread_timedjoin_np, pthread_tryjoin_np, EBUSY, owner_of_thread, RETURNS_ERROR)
TRIES(pthread_clockjoin_np, pthread_tryjoin_np, EBUSY, owner_of_thread, RETURNS_ERROR)
TRIES(mtx_lock, mtx_trylock, thrd_busy, owner_of_mutex, RETURNS_OTHER)
TRIES(mtx_timedlock, mtx_trylock, thrd_busy, owner_of_mutex, RETURNS_OTHER)
WAITS(thrd_join, owner_of_thread, RETURNS_OTHER)
WAITS(pthread_cond_wait, no_owner, RETURNS_ERROR)
WAITS(pthread_cond_timedwait, no_owner, RETURNS_ERROR)
WAITS(pthread_cond_clockwait, no_owner, RETURNS_ERROR)
WAITS(cnd_wait, no_owner, RETURNS_OTHER)
WAITS(cnd_timedwait, no_owner, RETURNS_OTHER)
WAITS(pthread_barrier_wait, no_owner, RETURNS_ERROR)

/* Wraps a function that takes a semaphore. These functions are cancellation points even if they
 * need not wait, but sem_trywait() is not: so pthread_testcancel() comes first. */
#define TAKES(name)                                                                        \
	PTRC_WRAPPER(name)                                                                 \
	{                                                                                  \
		ptrc_function *function = PTRC_NEXT(name);                                 \
		int error = errno;                                                         \
                                                                                           \
		if (!ptrc_wait_is_selected(PTRC_WAIT_BIT(LOCK)))                           \
			return function(a, b, c, d, e, f);                                 \
		pthread_testcancel();                                                      \
		if (!(int)PTRC_NEXT(sem_trywait)(a, 0, 0, 0, 0, 0))                        \
			return 0;                                                          \
		errno = error;                                                             \
		return wait_for(PTRC_WAIT_CALL_##name, function, ARGUMENTS, 0, SETS_ERRNO, \
				PTRC_CALL_SITE);                                           \
	}

TAKES(sem_wait)
TAKES(sem_timedwait)
TAKES(sem_clockwait)

/* The ID of the thread that holds a lock of FUTEX_LOCK_PI: it is in the futex word. 0: unknown. */
static int32_t owner_of_futex(long futex)
{
	uint64_t word;

	if (!ptrc_program_bytes((const void *)futex, &word, sizeof(uint32_t)))
		return 0;
	return (int32_t)((uint32_t)word & FUTEX_TID_MASK);
}

static bool waits(long operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_LOCK_PI:
	case 13: /* FUTEX_LOCK_PI2 */
		return true;
	}
	return false;
}

/* Calls futex() by syscall(), as programs do that implement locks of their own. */
static PTRC_NOINLINE long wait_for_futex(long a, long b, long c, long d, long e, long f,
					 uint64_t call_site)
{
	bool is_recorded = ptrc_wait_is_recorded(PTRC_WAIT_BIT(LOCK));
	int command = (int)b & FUTEX_CMD_MASK;
	long result;

	if (is_recorded)
		ptrc_wait_begin_lock(PTRC_WAIT_CALL_futex,
				     command == FUTEX_LOCK_PI || command == 13 ? owner_of_futex(a)
									       : 0,
				     (uint64_t)a, call_site);
	result = PTRC_NEXT_OF_7(syscall)(SYS_futex, a, b, c, d, e, f);
	if (is_recorded)
		ptrc_wait_end(PTRC_WAIT_LOCK, result, result < 0 ? errno : 0, call_site);
	return result;
}

PTRC_PUBLIC long ptrc_wrapper_syscall(long number, long a, long b, long c, long d, long e,
				      long f) __asm__("syscall");

/* syscall() has a variable number of arguments. Like the C library's syscall(), this wrapper always
 * reads seven. */
PTRC_PUBLIC PTRC_NO_STACK_PROTECTOR long ptrc_wrapper_syscall(long number, long a, long b, long c,
							      long d, long e, long f)
{
	ptrc_function_of_7 *function = PTRC_NEXT_OF_7(syscall);

	if (number == SYS_futex && waits(b) && ptrc_wait_is_selected(PTRC_WAIT_BIT(LOCK)))
		return wait_for_futex(a, b, c, d, e, f, PTRC_CALL_SITE);
	if (number == SYS_close)
		ptrc_descriptor_forget((int)a);
	if (number == SYS_close_range)
		ptrc_descriptors_forget((unsigned int)a, (unsigned int)b);
	if (number == SYS_dup3
#if defined(SYS_dup2)
	    || number == SYS_dup2
#endif
	)
		ptrc_descriptor_forget((int)b);
	if (number == SYS_seccomp && a <= SECCOMP_SET_MODE_FILTER) {
		bool was_known = ptrc_descriptors_end();
		long result = function(number, a, b, c, d, e, f);

		if (result < 0 && was_known)
			ptrc_descriptors_resume();
		return result;
	}
	return function(number, a, b, c, d, e, f);
}

/* If the process restricts its system calls by seccomp, a system call of this library might kill
 * it. So ptrc_descriptors_end() is called first, and undone if the call fails. */
PTRC_WRAPPER(prctl)
{
	ptrc_function *function = PTRC_NEXT(prctl);
	bool was_known;
	long result;

	if ((int)a != PR_SET_SECCOMP)
		return function(a, b, c, d, e, f);
	was_known = ptrc_descriptors_end();
	result = function(a, b, c, d, e, f);
	if ((int)result < 0 && was_known)
		ptrc_descriptors_resume();
	return result;
}
