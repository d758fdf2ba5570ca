/* SPDX-License-Identifier: MIT */
/* Wrappers of functions that sleep, that wait for signals, and that wait for child processes. */
#include "config.h"

#include <errno.h>
#include <time.h>

#include "lib/base/sys.h"
#include "lib/preload/descriptors.h"
#include "lib/preload/next_function.h"
#include "lib/preload/signals.h"
#include "lib/preload/wait_calls.h"
#include "lib/preload/waits.h"

/* the duration (ns) in the event of a wait without a limit */
#define FOR_EVER (-1)

/* The nanoseconds of the struct timespec at an address that the program passes; 0 if it is
 * invalid. */
static int64_t ns_of(long at)
{
	struct timespec t;

	if (!ptrc_program_bytes((const void *)at, &t, sizeof(t)) || t.tv_sec < 0 || t.tv_nsec < 0 ||
	    t.tv_sec > INT32_MAX)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The nanoseconds for which clock_nanosleep() will sleep if it gets these arguments. */
static int64_t ns_until(long clock, long flags, long at)
{
	int64_t ns = ns_of(at), now;
	struct timespec t;

	if (!(flags & TIMER_ABSTIME) || !ns || ptrc_sys(SYS_clock_gettime, (int)clock, &t))
		return ns;
	now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	return now < ns ? ns - now : 0;
}

/* Wraps a function that sleeps `ns` nanoseconds. `error` computes the error number from the result
 * of the call. */
#define SLEEPS(name, ns, error) SLEEPS_IN(name, PTRC_NEXT(name), ns, error)
#define SLEEPS_IN(name, next, ns, error)                                                  \
	PTRC_WRAPPER(name)                                                                \
	{                                                                                 \
		ptrc_function *function = (next);                                         \
		bool is_recorded = ptrc_wait_is_recorded(PTRC_WAIT_BIT(SLEEP));           \
		int result;                                                               \
                                                                                          \
		if (is_recorded)                                                          \
			ptrc_wait_begin_sleep(PTRC_WAIT_CALL_##name, ns, PTRC_CALL_SITE); \
		result = (int)function(a, b, c, d, e, f);                                 \
		if (is_recorded)                                                          \
			ptrc_wait_end(PTRC_WAIT_SLEEP, result, error, PTRC_CALL_SITE);    \
		return result;                                                            \
	}

SLEEPS(nanosleep, ns_of(a), result < 0 ? errno : 0)
SLEEPS(clock_nanosleep, ns_until(a, b, c), result)
SLEEPS(usleep, (int64_t)(unsigned int)a * 1000, result < 0 ? errno : 0)
SLEEPS(sleep, (int64_t)(unsigned int)a * 1000000000, 0)
SLEEPS(pause, FOR_EVER, errno)
SLEEPS_IN(sigwait, ptrc_signals_wait, FOR_EVER, result)
SLEEPS_IN(sigwaitinfo, ptrc_signals_wait_info, FOR_EVER, result < 0 ? errno : 0)
SLEEPS_IN(sigtimedwait, ptrc_signals_timed_wait, c ? ns_of(c) : FOR_EVER, result < 0 ? errno : 0)

SLEEPS_IN(sigsuspend, ptrc_signals_suspend, FOR_EVER, errno)

/* Calls a function that waits for a child process. `pid` is as for waitpid(): -1 is any child,
 * another negative number a process group. For waitid() it is -1 also for a process group. */
static PTRC_NOINLINE int wait_child(uint32_t call, ptrc_function *function, const long arguments[5],
				    int32_t pid, uint64_t call_site)
{
	bool is_recorded = ptrc_wait_is_recorded(PTRC_WAIT_BIT(CHILD));
	int result;

	if (is_recorded)
		ptrc_wait_begin_child(call, pid, call_site);
	result = (int)function(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
			       0);
	if (is_recorded)
		ptrc_wait_end(PTRC_WAIT_CHILD, result, result < 0 ? errno : 0, call_site);
	return result;
}

#define WAITS(name, pid)                                                               \
	PTRC_WRAPPER(name)                                                             \
	{                                                                              \
		return wait_child(PTRC_WAIT_CALL_##name, PTRC_NEXT(name),              \
				  (const long[]){a, b, c, d, e}, pid, PTRC_CALL_SITE); \
	}

WAITS(wait, -1)
WAITS(wait3, -1)
WAITS(wait4, (int32_t)a)
WAITS(waitpid, (int32_t)a)
WAITS(waitid, (int)a == 1 /* P_PID */ ? (int32_t)b : -1)
WAITS(system, -1)

/* pclose() also closes a descriptor, whose text is removed from the table. */
PTRC_WRAPPER(pclose)
{
	ptrc_descriptor_forget(ptrc_descriptor_of((FILE *)a));
	return wait_child(PTRC_WAIT_CALL_pclose, PTRC_NEXT(pclose), (const long[]){a, 0, 0, 0, 0},
			  -1, PTRC_CALL_SITE);
}
