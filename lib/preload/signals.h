/* SPDX-License-Identifier: MIT */
/*
 * Keeps SIGTRAP usable for the traps of probes (probes.h), whatever the program does with this
 * signal. The functions of the C library that set handlers and masks are wrapped. The program's own
 * action for SIGTRAP is stored here, and gets each SIGTRAP that is not from a probe. SIGTRAP is
 * removed from each mask that the program sets: if it were blocked, the kernel would kill the
 * program at the next probe. A SIGTRAP that was sent by kill() to a thread that wants to block it
 * is held here until the thread unblocks it or waits for it.
 */
#ifndef PTRC_LIB_PRELOAD_SIGNALS_H
#define PTRC_LIB_PRELOAD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "lib/preload/next_function.h"

/* Sets a handler, which calls take() for each trap of an instruction; take() returns false if the
 * trap is not one of a probe. Before this call, the wrappers only call the next definition. Returns
 * false if the C library has no sigaction(). */
bool ptrc_signals_begin(bool (*take)(ucontext_t *));

/* Returns the mask that a wrapper passes on: `mask`, which may be NULL, or, if SIGTRAP is in
 * `mask`, *copy, which is the mask without it. */
const sigset_t *ptrc_signals_without_trap(const sigset_t *mask, sigset_t *copy);

/* These functions call the next definitions of sigsuspend(), sigwait(), sigwaitinfo() and
 * sigtimedwait(), but return at once if they wait for SIGTRAP and a SIGTRAP is held. */
ptrc_function ptrc_signals_suspend, ptrc_signals_wait, ptrc_signals_wait_info,
	ptrc_signals_timed_wait;

#endif
