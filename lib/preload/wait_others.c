/* SPDX-License-Identifier: MIT */
/* Wrappers of functions that sleep, and that wait for child processes. */
#include "config.h"

#include <errno.h>
#include <time.h>

#include "lib/base/sys.h"
#include "lib/preload/descriptors.h"
#include "lib/preload/next_function.h"
#include "lib/preload/wait_calls.h"
#include "lib/preload/waits.h"

#define CALL_SITE ((uint64_t)__builtin_return_address(0))

/* The nanoseconds of a time that the program passes; 0 if it is not valid. */
static uint64_t ns_of(long at)
{
	struct timespec t;

	if (!ptrc_program_bytes((const void *)at, &t, sizeof(t)) || t.tv_sec < 0 || t.tv_nsec < 0 ||
	    t.tv_sec > INT32_MAX)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* How long clock_nanosleep() is to sleep. */
static uint64_t ns_until(long clock, long flags, long at)
{
	uint64_t ns = ns_of(at), now;
	struct timespec t;

	if (!(flags & TIMER_ABSTIME) || !ns || ptrc_sys(SYS_clock_gettime, (int)clock, &t))
		return ns;
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	return now < ns ? ns - now : 0;
}

/* error: the error number, of the result of the call. */
#define SLEEPS(name, ns, error)                                                      \
	PTRC_WRAPPER(name)                                                           \
	{                                                                            \
		ptrc_function *function = PTRC_NEXT(name);                           \
		bool is_recorded = ptrc_wait_is_recorded(PTRC_WAIT_BIT(SLEEP));      \
		int result;                                                          \
                                                                                     \
		if (is_recorded)                                                     \
			ptrc_wait_begin_sleep(PTRC_WAIT_CALL_##name, ns, CALL_SITE); \
		result = (int)function(a, b, c, d, e, f);                            \
		if (is_recorded)                                                     \
			ptrc_wait_end(PTRC_WAIT_SLEEP, result, error, CALL_SITE);    \
		return result;                                                       \
	}

SLEEPS(nanosleep, ns_of(a), result < 0 ? errno : 0)
SLEEPS(clock_nanosleep, ns_until(a, b, c), result)
SLEEPS(usleep, (uint64_t)(unsigned int)a * 1000, result < 0 ? errno : 0)
SLEEPS(sleep, (uint64_t)(unsigned int)a * 1000000000, 0)

#define WAITS(name, pid)                                                                           \
	PTRC_WRAPPER(name)                                                                         \
	{                                                                                          \
		ptrc_function *function = PTRC_NEXT(name);                                         \
		bool is_recorded = ptrc_wait_is_recorded(PTRC_WAIT_BIT(CHILD));                    \
		int result;                                                                        \
                                                                                                   \
		if (is_recorded)                                                                   \
			ptrc_wait_begin_child(PTRC_WAIT_CALL_##name, pid, CALL_SITE);              \
		result = (int)function(a, b, c, d, e, f);                                          \
		if (is_recorded)                                                                   \
			ptrc_wait_end(PTRC_WAIT_CHILD, result, result < 0 ? errno : 0, CALL_SITE); \
		return result;                                                                     \
	}

/* The second argument is the process that is waited for, as waitpid() has it: -1 is any child. waitid() gives -1 for
 * a process group, too. */
WAITS(wait, -1)
WAITS(wait3, -1)
WAITS(wait4, (int32_t)a)
WAITS(waitpid, (int32_t)a)
WAITS(waitid, (int)a == 1 /* P_PID */ ? (int32_t)b : -1)
