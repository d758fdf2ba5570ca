/* SPDX-License-Identifier: MIT */
/*
 * Keeps SIGTRAP for the probes (probes.h). The functions of the C library that set handlers and masks are wrapped.
 * The program's own action for SIGTRAP is kept here, and gets each trap that is no probe's. SIGTRAP is taken out of
 * each mask: if it were blocked, the kernel would kill the program at the next probe. A SIGTRAP that was sent by
 * kill() to a thread that believes to block it is held here, until the thread unblocks it or waits for it.
 */
#ifndef PTRC_LIB_PRELOAD_SIGNALS_H
#define PTRC_LIB_PRELOAD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "lib/preload/next_function.h"

/* Sets a handler, which calls take() with each trap of an instruction. If that returns false, the trap is none of
 * ours. From now on the wrappers do what they say; before, they only pass on. Returns false if there is
 * no sigaction() to call. */
bool ptrc_signals_begin(bool (*take)(ucontext_t *));

/* The mask that a wrapper passes on: `mask`, which may be NULL, or, if that has SIGTRAP, a copy without it. */
const sigset_t *ptrc_signals_without_trap(const sigset_t *mask, sigset_t *copy);

/* The next definitions of sigsuspend(), sigwait(), sigwaitinfo() and sigtimedwait(), which also know a SIGTRAP that is
 * held. */
ptrc_function ptrc_signals_suspend, ptrc_signals_wait, ptrc_signals_wait_info,
	ptrc_signals_timed_wait;

#endif
