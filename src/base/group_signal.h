/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether a signal was sent to the whole process group or to this process alone.
 *
 * The kernel does not say which: siginfo_t is the same for both, and /proc does not list delivered
 * signals. The only difference is whether other members of the group get the signal, too. So this
 * process has a child in its group, the witness, which blocks all signals and answers on request
 * whether a signal is pending for it.
 *
 * The witness also continues this process after it has stopped together with COMMAND, the program
 * that ptrace-run runs, because a stopped process does not learn when its child is continued. */
#ifndef PTRC_SRC_BASE_GROUP_SIGNAL_H
#define PTRC_SRC_BASE_GROUP_SIGNAL_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts the witness. The caller must have blocked the signals about which it will ask. If the witness cannot be
 * started, no signal counts as sent to the group. */
void ptrc_group_signal_begin(pid_t command);

/*
 * Whether this signal was sent to the group since the last call for the same signal. Waits some milliseconds
 * before it returns false, because timeout(1) and service managers send the signal to this process and to the
 * group one after the other. If the same signal is sent to this process alone at that moment, the two count as
 * one.
 */
bool ptrc_group_signal_is_for_group(int signal);

/* Whether the sender of a SIGCONT is the witness. If so, the SIGCONT is not meant for COMMAND. */
bool ptrc_group_signal_is_witness(pid_t);

/*
 * Stops this process because COMMAND has stopped, so that a shell takes the terminal back. Returns when this
 * process was continued: by a signal to it or to its group, or by the witness, after another process continued
 * COMMAND or COMMAND died. If no shell does job control, returns at once. The caller must have blocked SIGTSTP
 * and SIGCONT.
 */
void ptrc_group_signal_stop(void);

void ptrc_group_signal_end(void);

#endif
