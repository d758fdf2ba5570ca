/* SPDX-License-Identifier: MIT */
/* The signals with which a user ends a command that would run for ever: SIGINT, SIGTERM and SIGHUP.
 * The command first finishes its work, then ends itself by the same signal, so that a shell that
 * runs the command in a loop ends the loop. */
#ifndef PTRC_SRC_BASE_END_SIGNAL_H
#define PTRC_SRC_BASE_END_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

/* Sets the action for SIGINT, SIGTERM and SIGHUP. Ignored signals stay ignored. */
void ptrc_end_signal_set(const struct sigaction *);

/* Catches the first SIGINT, SIGTERM and SIGHUP; the second signal of a kind ends the process at once.
 * Ignored signals stay ignored. Once a signal has come, output that the reader does not take at once
 * is dropped (ptrc_output_give_up_at()). */
void ptrc_end_signal_catch(void);

bool ptrc_end_signal_has_come(void);

/* Ends the process by the signal that has come; returns if no signal has come. */
void ptrc_end_signal_raise(void);

#endif
