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
#include "lib/preload/vfork.h"

static _Atomic bool is_active;
static bool (*take_trap)(ucontext_t *);
/* The program's action for SIGTRAP. It is written without a lock while SIGTRAP's handler may read
 * it. So if two threads set it at once, the handler may find the function of one call and the flags
 * of the other; no program does that. */
static struct sigaction action;

/* Whether the program has blocked SIGTRAP in this thread. A thread that has set no mask has the
 * mask of the thread that made it. That thread is unknown, so the last mask that any thread has set
 * is used. */
enum { NOT_SET, OPEN, BLOCKED };
static __thread uint8_t own_mask __attribute__((tls_model("initial-exec")));
static _Atomic uint8_t last_mask;
/* A SIGTRAP that another process or thread has sent is held until a thread unblocks it or waits for
 * it. */
static _Atomic bool is_held;
/* The IDs of threads that wait for SIGTRAP, in sigwait() for example; 0: free. A thread that finds
 * no free element waits all the same, but a SIGTRAP that comes meanwhile goes to another thread. */
enum { WAITERS_MAX = 16 };
static _Atomic int waiters[WAITERS_MAX];

static bool has_trap(const sigset_t *set)
{
	return set && sigismember(set, SIGTRAP) == 1;
}

static bool is_blocked(void)
{
	return (own_mask != NOT_SET ? own_mask : ptrc_load_relaxed(&last_mask)) == BLOCKED;
}

/* Sends this thread the SIGTRAP that is held (is_held), if any. Returns whether one was held. */
static bool release(void)
{
	if (!atomic_exchange_explicit(&is_held, false, memory_order_relaxed))
		return false;
	ptrc_sys(SYS_tgkill, ptrc_sys_getpid(), ptrc_sys_gettid(), SIGTRAP);
	return true;
}

/* Notes that the program has blocked (`is`) or unblocked SIGTRAP in this thread. */
static void set_blocked(bool is)
{
	/* The child of vfork() shares these variables with its parent, and must not change them. */
	if (ptrc_vfork_is_in_child())
		return;
	own_mask = is ? BLOCKED : OPEN;
	ptrc_store_relaxed(&last_mask, own_mask);
	if (!is)
		release();
}

const sigset_t *ptrc_signals_without_trap(const sigset_t *mask, sigset_t *copy)
{
	if (!ptrc_load_relaxed(&is_active) || !has_trap(mask))
		return mask;
	*copy = *mask;
	sigdelset(copy, SIGTRAP);
	return copy;
}

/* Ends the process as an unhandled SIGTRAP does: resets the action and sends the signal again,
 * which takes effect when the handler returns. */
static void die(void)
{
	const struct sigaction none = {.sa_handler = SIG_DFL};

	PTRC_NEXT(sigaction)(SIGTRAP, (long)&none, 0, 0, 0, 0);
	ptrc_sys(SYS_tgkill, ptrc_sys_getpid(), ptrc_sys_gettid(), SIGTRAP);
}

/* Handles a SIGTRAP that is not from a probe as the kernel would, by the program's own action and
 * mask. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	struct sigaction now = action;
	sigset_t mask = now.sa_mask, before;
	const ucontext_t *c = context;

	/* If the trap of an instruction is ignored or blocked, the kernel ends the process. */
	if (now.sa_handler == SIG_DFL ||
	    (info->si_code > 0 && (now.sa_handler == SIG_IGN || own_mask == BLOCKED))) {
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

/* Holds a signal that this thread blocks, or sends it to a thread that waits for it. This function
 * sets is_held and then reads `waiters`; wait_for() writes `waiters` and then reads is_held. So at
 * least one of the two sees what the other has stored. */
static void hold(ucontext_t *c)
{
	atomic_store(&is_held, true);
	for (size_t i = 0; i < WAITERS_MAX; i++) {
		int thread = atomic_load(&waiters[i]);

		if (!thread)
			continue;
		if (!atomic_exchange(&is_held, false))
			return;
		/* If this thread itself is about to wait for the signal, the signal must stay
		 * pending until then. So SIGTRAP stays blocked after this handler; wait_for()
		 * unblocks it. */
		if (thread == ptrc_sys_gettid())
			sigaddset(&c->uc_sigmask, SIGTRAP);
		if (!ptrc_sys(SYS_tgkill, ptrc_sys_getpid(), thread, SIGTRAP))
			return;
		/* The thread was cancelled while it waited, and has left its ID here. */
		atomic_compare_exchange_strong(&waiters[i], &thread, 0);
		atomic_store(&is_held, true);
	}
}

/* Stores this thread's ID in a free element of `waiters`. Returns the element, or NULL if none is
 * free. */
static _Atomic int *enter(void)
{
	int self = (int)ptrc_sys_gettid();

	for (size_t i = 0; i < WAITERS_MAX; i++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&waiters[i], &none, self))
			return &waiters[i];
	}
	return NULL;
}

static void handle(int number, siginfo_t *info, void *context)
{
	int before = errno;

	/* Only the kernel sends a signal whose code is above 0. */
	if (info->si_code <= 0 && is_blocked())
		hold(context);
	else if (info->si_code <= 0 || !take_trap(context))
		pass_on(number, info, context);
	errno = before;
}

/* Sets handle() as the handler. `flags` are those of the program's action. SA_ONSTACK is set only
 * if the program sets it, because the alternate stack of a program that does not use it may be too
 * small. */
static bool install(int flags, struct sigaction *old)
{
	struct sigaction own = {.sa_sigaction = handle,
				.sa_flags = SA_SIGINFO | (flags & (int)(SA_ONSTACK | SA_RESTART))};

	/* All signals are blocked in the handler, so that no handler of the program, which may
	 * reach probes, interrupts it. This includes the signals of the C library that sigfillset()
	 * leaves out; one of them cancels threads. */
	memset(&own.sa_mask, 0xff, sizeof(own.sa_mask));
	return !PTRC_NEXT(sigaction)(SIGTRAP, (long)&own, (long)old, 0, 0, 0);
}

/* Unblocks SIGTRAP in the kernel's mask of this thread, and returns whether it was blocked
 * there. */
static bool unblock(void)
{
	const uint64_t bit = UINT64_C(1) << (SIGTRAP - 1);
	uint64_t before = 0;

	ptrc_sys(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &before, sizeof(bit));
	return before & bit;
}

bool ptrc_signals_begin(bool (*take)(ucontext_t *))
{
	take_trap = take;
	if (!install(SA_RESTART, &action))
		return false;
	/* The program may have been started with SIGTRAP blocked. */
	own_mask = unblock() ? BLOCKED : OPEN;
	ptrc_store_relaxed(&last_mask, own_mask);
	ptrc_store_release(&is_active, true);
	return true;
}

/* ---- actions ---- */

static void set_action(const struct sigaction *new)
{
	bool is_handled = new->sa_handler != SIG_DFL &&new->sa_handler != SIG_IGN;

	/* The child of vfork() sets nothing: the variable `action` is shared with its parent, but
	 * the action in the kernel is not. */
	if (ptrc_vfork_is_in_child())
		return;
	action = *new;
	install(is_handled ? new->sa_flags : SA_RESTART, NULL);
}

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
		set_action(new);
	if (old)
		*old = copy;
	return 0;
}

/* Sets the program's handler for SIGTRAP, as signal() and similar functions do. Returns the
 * previous one. */
static long set_handler(long handler, int flags)
{
	long before = (long)action.sa_handler;

	set_action(&(struct sigaction){.sa_handler = (void (*)(int))handler, .sa_flags = flags});
	return before;
}

/* Whether a call for this signal is handled here and not passed on. */
static bool is_own(long number)
{
	return (int)number == SIGTRAP && ptrc_load_acquire(&is_active);
}

#define SETS_HANDLER(name, flags)                                                             \
	PTRC_WRAPPER(name)                                                                    \
	{                                                                                     \
		return is_own(a) ? set_handler(b, flags) : PTRC_NEXT(name)(a, b, 0, 0, 0, 0); \
	}

SETS_HANDLER(signal, SA_RESTART)
SETS_HANDLER(bsd_signal, SA_RESTART)
SETS_HANDLER(ssignal, SA_RESTART)
SETS_HANDLER(__sysv_signal, (int)SA_RESETHAND)

PTRC_WRAPPER(sigignore)
{
	if (!is_own(a))
		return PTRC_NEXT(sigignore)(a, 0, 0, 0, 0, 0);
	set_handler((long)SIG_IGN, 0);
	return 0;
}

PTRC_WRAPPER(sigset)
{
	bool was_blocked = is_blocked();
	long before = (long)action.sa_handler;

	if (!is_own(a))
		return PTRC_NEXT(sigset)(a, b, 0, 0, 0, 0);
	if (b != (long)SIG_HOLD)
		set_handler(b, 0);
	set_blocked(b == (long)SIG_HOLD);
	return was_blocked ? (long)SIG_HOLD : before;
}

/* ---- masks ---- */

/* Does what sigprocmask() or pthread_sigmask() does; `function` is the next definition of one of
 * them. */
static long set_mask(ptrc_function *function, long how, sigset_t *set, sigset_t *old)
{
	bool is_named = has_trap(set), was_blocked = is_blocked();
	sigset_t copy;
	int result;

	if (!ptrc_load_acquire(&is_active))
		return function(how, (long)set, (long)old, 0, 0, 0);
	result =
		(int)function(how, (long)ptrc_signals_without_trap(set, &copy), (long)old, 0, 0, 0);
	if (result)
		return result;
	if (set && (is_named || (int)how == SIG_SETMASK))
		set_blocked(is_named && (int)how != SIG_UNBLOCK);
	if (old && was_blocked)
		sigaddset(old, SIGTRAP);
	return 0;
}

PTRC_WRAPPER(sigprocmask)
{
	return set_mask(PTRC_NEXT(sigprocmask), a, (sigset_t *)b, (sigset_t *)c);
}

PTRC_WRAPPER(pthread_sigmask)
{
	return set_mask(PTRC_NEXT_OR("pthread_sigmask", ptrc_function_error), a, (sigset_t *)b,
			(sigset_t *)c);
}

PTRC_WRAPPER(sighold)
{
	if (!is_own(a))
		return PTRC_NEXT(sighold)(a, 0, 0, 0, 0, 0);
	set_blocked(true);
	return 0;
}

PTRC_WRAPPER(sigrelse)
{
	if (!is_own(a))
		return PTRC_NEXT(sigrelse)(a, 0, 0, 0, 0, 0);
	set_blocked(false);
	return 0;
}

/* the bit of SIGTRAP in the masks of sigblock() and sigsetmask(), which are ints */
enum { OLD_MASK_BIT = 1 << (SIGTRAP - 1) };

PTRC_WRAPPER(sigblock)
{
	int was_blocked = is_blocked() ? OLD_MASK_BIT : 0;

	if (!ptrc_load_acquire(&is_active))
		return PTRC_NEXT(sigblock)(a, 0, 0, 0, 0, 0);
	if (a & OLD_MASK_BIT)
		set_blocked(true);
	return (int)PTRC_NEXT(sigblock)(a & ~OLD_MASK_BIT, 0, 0, 0, 0, 0) | was_blocked;
}

PTRC_WRAPPER(sigsetmask)
{
	int was_blocked = is_blocked() ? OLD_MASK_BIT : 0, result;

	if (!ptrc_load_acquire(&is_active))
		return PTRC_NEXT(sigsetmask)(a, 0, 0, 0, 0, 0);
	result = (int)PTRC_NEXT(sigsetmask)(a & ~OLD_MASK_BIT, 0, 0, 0, 0, 0) | was_blocked;
	set_blocked(a & OLD_MASK_BIT);
	return result;
}

PTRC_WRAPPER(pthread_attr_setsigmask_np)
{
	sigset_t copy;

	return PTRC_NEXT_OR("pthread_attr_setsigmask_np", ptrc_function_error)(
		a, (long)ptrc_signals_without_trap((const sigset_t *)b, &copy), 0, 0, 0, 0);
}

/* ---- waiting for signals ---- */

long ptrc_signals_suspend(long mask, long b, long c, long d, long e, long f)
{
	const sigset_t *set = (const sigset_t *)mask;
	uint8_t before = own_mask;
	sigset_t copy;
	long result;

	if (!ptrc_load_acquire(&is_active))
		return PTRC_NEXT(sigsuspend)(mask, b, c, d, e, f);
	own_mask = has_trap(set) ? BLOCKED : OPEN;
	if (own_mask == OPEN && release()) {
		errno = EINTR;
		result = -1;
	} else {
		result = PTRC_NEXT(sigsuspend)((long)ptrc_signals_without_trap(set, &copy), b, c, d,
					       e, f);
	}
	own_mask = before;
	return result;
}

/* If a SIGTRAP is held and is in `set`, takes it and returns SIGTRAP. Otherwise calls a function
 * that waits for one of the signals in `set`, and returns its result. The thread may be cancelled
 * in the call. */
static long wait_for(ptrc_function *function, long set, long b, long c)
{
	_Atomic int *place;
	long result;

	if (!ptrc_load_acquire(&is_active) || !has_trap((const sigset_t *)set))
		return function(set, b, c, 0, 0, 0);
	place = enter();
	result = atomic_exchange(&is_held, false) ? SIGTRAP : function(set, b, c, 0, 0, 0);
	if (place)
		atomic_store(place, 0);
	unblock();
	return result;
}

long ptrc_signals_wait(long set, long number, long c, long d, long e, long f)
{
	int result = (int)wait_for(PTRC_NEXT_OR("sigwait", ptrc_function_error), set, number, c);

	(void)d, (void)e, (void)f;
	if (result != SIGTRAP)
		return result;
	*(int *)number = SIGTRAP;
	return 0;
}

/* Does what sigwaitinfo() or sigtimedwait() does; `function` is the next definition of one of
 * them. */
static long wait_info(ptrc_function *function, long set, siginfo_t *info, long timeout)
{
	siginfo_t held = {.si_signo = SIGTRAP, .si_code = SI_USER}, own;
	int result;

	own.si_signo = 0;
	result = (int)wait_for(function, set, (long)&own, timeout);
	if (info && result > 0)
		*info = own.si_signo ? own : held;
	return result;
}

long ptrc_signals_wait_info(long set, long info, long c, long d, long e, long f)
{
	(void)d, (void)e, (void)f;
	return wait_info(PTRC_NEXT(sigwaitinfo), set, (siginfo_t *)info, c);
}

long ptrc_signals_timed_wait(long set, long info, long timeout, long d, long e, long f)
{
	(void)d, (void)e, (void)f;
	return wait_info(PTRC_NEXT(sigtimedwait), set, (siginfo_t *)info, timeout);
}
