/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/signals.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"
#include "lib/base/sys.h"
#include "lib/preload/next_function.h"

static _Atomic bool is_active;
static bool (*take_trap)(ucontext_t *);
/* The program's action for SIGTRAP. It is written and read with SIGTRAP's handler running at any time, so a handler
 * and its flags may not be of one call if two threads set it at once; no program does that. */
static struct sigaction action;

const sigset_t *ptrc_signals_without_trap(const sigset_t *mask, sigset_t *copy)
{
	if (!mask || !ptrc_load_relaxed(&is_active) || !sigismember(mask, SIGTRAP))
		return mask;
	*copy = *mask;
	sigdelset(copy, SIGTRAP);
	return copy;
}

/* Ends the process as SIGTRAP does: the signal comes again when the handler returns, and finds no handler. */
static void die(void)
{
	const struct sigaction none = {.sa_handler = SIG_DFL};

	PTRC_NEXT(sigaction)(SIGTRAP, (long)&none, 0, 0, 0, 0);
	ptrc_sys(SYS_tgkill, ptrc_sys_getpid(), ptrc_sys_gettid(), SIGTRAP);
}

/* Does what the program wants with a trap that is no probe's. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	struct sigaction now = action;
	sigset_t mask = now.sa_mask, before;
	const ucontext_t *c = context;

	/* The kernel does not ignore the trap of an instruction. */
	if (now.sa_handler == SIG_DFL || (now.sa_handler == SIG_IGN && info->si_code > 0)) {
		die();
		return;
	}
	if (now.sa_handler == SIG_IGN)
		return;
	if (now.sa_flags & (int)SA_RESETHAND)
		action.sa_handler = SIG_DFL;
	sigorset(&mask, &mask, &c->uc_sigmask);
	sigdelset(&mask, SIGTRAP);
	ptrc_sys(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof(uint64_t));
	if (now.sa_flags & SA_SIGINFO)
		now.sa_sigaction(number, info, context);
	else
		now.sa_handler(number);
	ptrc_sys(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(uint64_t));
}

static void handle(int number, siginfo_t *info, void *context)
{
	int before = errno;

	/* Only the kernel sends a signal whose code is above 0. */
	if (info->si_code <= 0 || !take_trap(context))
		pass_on(number, info, context);
	errno = before;
}

bool ptrc_signals_begin(bool (*take)(ucontext_t *))
{
	/* With all signals blocked, no handler of the program, which may have probes, runs within this one. */
	struct sigaction own = {.sa_sigaction = handle,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};

	take_trap = take;
	sigfillset(&own.sa_mask);
	if (PTRC_NEXT(sigaction)(SIGTRAP, (long)&own, (long)&action, 0, 0, 0))
		return false;
	ptrc_store_release(&is_active, true);
	return true;
}

/* ---- wrappers ---- */

PTRC_WRAPPER(sigaction)
{
	const struct sigaction *new = (const struct sigaction *)b;
	struct sigaction *old = (struct sigaction *)c, copy;

	if (!ptrc_load_acquire(&is_active))
		return PTRC_NEXT(sigaction)(a, b, c, 0, 0, 0);
	if ((int)a != SIGTRAP) {
		if (new) {
			copy = *new;
			sigdelset(&copy.sa_mask, SIGTRAP);
		}
		return PTRC_NEXT(sigaction)(a, new ? (long)&copy : 0, c, 0, 0, 0);
	}
	copy = action;
	if (new)
		action = *new;
	if (old)
		*old = copy;
	return 0;
}

/* signal() and its kin, for SIGTRAP. */
static long set_handler(long handler, int flags)
{
	long before = (long)action.sa_handler;

	action = (struct sigaction){.sa_handler = (void (*)(int))handler, .sa_flags = flags};
	return before;
}

PTRC_WRAPPER(signal)
{
	if ((int)a == SIGTRAP && ptrc_load_acquire(&is_active))
		return set_handler(b, SA_RESTART);
	return PTRC_NEXT(signal)(a, b, 0, 0, 0, 0);
}

PTRC_WRAPPER(__sysv_signal)
{
	if ((int)a == SIGTRAP && ptrc_load_acquire(&is_active))
		return set_handler(b, (int)SA_RESETHAND);
	return PTRC_NEXT(__sysv_signal)(a, b, 0, 0, 0, 0);
}

/* The mask to set. */
static long allow(long how, long mask, sigset_t *copy)
{
	return how == SIG_UNBLOCK ? mask
				  : (long)ptrc_signals_without_trap((const sigset_t *)mask, copy);
}

PTRC_WRAPPER(sigprocmask)
{
	sigset_t copy;

	return PTRC_NEXT(sigprocmask)(a, allow((int)a, b, &copy), c, 0, 0, 0);
}

PTRC_WRAPPER(pthread_sigmask)
{
	sigset_t copy;

	return PTRC_NEXT_OR("pthread_sigmask", ptrc_function_error)(a, allow((int)a, b, &copy), c,
								    0, 0, 0);
}

PTRC_WRAPPER(pthread_attr_setsigmask_np)
{
	sigset_t copy;

	return PTRC_NEXT_OR("pthread_attr_setsigmask_np",
			    ptrc_function_error)(a, allow(SIG_SETMASK, b, &copy), 0, 0, 0, 0);
}
