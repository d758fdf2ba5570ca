/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/recorder/frame.h"

#include <signal.h>

#include "lib/base/sys.h"

#if defined(__x86_64__)
/* Whether the 8 bytes at this address can be read. The kernel is asked to block the signals of a
 * set at this address: it reports an error if it cannot read the set. All signals are blocked
 * already, so nothing changes. */
static bool is_readable(uint64_t at)
{
	return ptrc_sys(SYS_rt_sigprocmask, SIG_BLOCK, at, 0, sizeof(uint64_t)) == 0;
}

/* Whether a signal handler that interrupted the call at `old` is still running. Then the handler's
 * frame lies between `frame`, that of the present event call, and `old`, higher on the same stack.
 * blocked: the signals that were blocked when the present call began. While a handler runs, its own
 * signal is blocked, unless the handler was installed with SA_NODEFER. A handler's frame has the
 * address of the restorer, a function that the C library passes with every handler. A handler that
 * was left by siglongjmp() may have left that address there, too. Then the call at `old` seems to
 * be alive, and a reader waits for it in vain; no other harm is done. */
__attribute__((no_sanitize("address"))) /* it reads the stack frames of other functions */
static bool
is_interrupted(uint64_t old, uint64_t frame, uint64_t blocked)
{
	struct { /* the kernel's struct sigaction */
		uint64_t handler, flags, restorer, mask;
	} action = {0};
	bool may_be_running = false;
	uint64_t restorer = 0;

	for (int sig = 1; sig <= 64; sig++)
		if (ptrc_sys(SYS_rt_sigaction, sig, 0, &action, sizeof(action.mask)) == 0 &&
		    action.handler > 1) {
			restorer = action.restorer;
			if ((blocked >> (sig - 1) & 1) || (action.flags & SA_NODEFER))
				may_be_running = true;
		}
	if (!may_be_running)
		return false;
	if (old - frame > 1 << 20)
		return true; /* a distance of more than 1 MiB: assume that a handler runs */
	frame &= ~UINT64_C(7);
	for (uint64_t at = frame; at < old; at += 8) {
		/* The two frames may be on stacks of coroutines, with no memory in between. */
		if ((at == frame || at % 4096 == 0) && !is_readable(at))
			return false;
		if (*(const volatile uint64_t *)at == restorer)
			return true;
	}
	return false;
}
#else
static bool is_interrupted(uint64_t old, uint64_t frame, uint64_t blocked)
{
	(void)old;
	(void)frame;
	return blocked != 0;
}
#endif

bool ptrc_frame_is_dead(uint64_t old, uint64_t frame, uint64_t blocked)
{
	stack_t ss = {0};
	uint64_t low, high;
	bool old_is_alt;

	if (ptrc_frame_is_same(old, frame))
		return true;
	if (ptrc_sys(SYS_sigaltstack, 0, &ss) < 0 || (ss.ss_flags & SS_DISABLE))
		return frame > old || !is_interrupted(old, frame, blocked);
	low = (uint64_t)ss.ss_sp;
	high = low + ss.ss_size;
	old_is_alt = old >= low && old < high;
	if (ss.ss_flags & SS_ONSTACK)
		return old_is_alt && frame > old;
	return old_is_alt || frame > old || !is_interrupted(old, frame, blocked);
}
