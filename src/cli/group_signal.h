/* SPDX-License-Identifier: MIT */
/*
 * Tells a signal that was sent to the whole process group from a signal that was sent to
 * this process alone.
 *
 * The kernel does not tell this to the process that receives the signal: kill(PID) and
 * kill(-PGID) fill in the same siginfo_t, and nothing in /proc says which signals another
 * process has had. What differs is only whether other members of the group get the signal,
 * too. So one more member is needed: a witness, a child that does nothing else, blocks all
 * signals, and looks on demand whether a signal is pending for itself.
 */
#ifndef PTRC_SRC_CLI_GROUP_SIGNAL_H
#define PTRC_SRC_CLI_GROUP_SIGNAL_H

#include <stdbool.h>

/*
 * Starts the witness; the signals that will be asked about have to be blocked by now. If it
 * cannot be started, no signal counts as sent to the group.
 */
void ptrc_group_signal_begin(void);

/*
 * Whether the group was sent this signal since the function was last called for it. The
 * answer "no" takes some milliseconds: timeout(1) and service managers send a signal to the
 * members of a group one after the other. A signal that the process alone is sent in the same
 * moment counts as the same one, as it does while the first is pending.
 */
bool ptrc_group_signal_is_for_group(int signal);

void ptrc_group_signal_end(void);

#endif
