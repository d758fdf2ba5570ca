/* SPDX-License-Identifier: MIT */
/* The signals with which a user ends a command that runs until it is told to stop: SIGINT, SIGTERM and SIGHUP. The
 * command ends in order, then by the same signal, so that a shell which runs it in a loop stops the loop. */
#ifndef PTRC_SRC_BASE_END_SIGNAL_H
#define PTRC_SRC_BASE_END_SIGNAL_H

#include <stdbool.h>

/* Catches the first signal of each kind; a second one ends the process at once. From then on, output that its
 * reader does not take is given up once a signal has come. Signals that are ignored stay so. */
void ptrc_end_signal_catch(void);

bool ptrc_end_signal_has_come(void);

/* Ends the process by the signal that has come; returns if none has. */
void ptrc_end_signal_raise(void);

#endif
