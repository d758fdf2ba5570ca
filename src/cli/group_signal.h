/* SPDX-License-Identifier: MIT */
/*
 * Whether a signal was sent to this process alone or to its whole process group: the
 * kernel does not tell. A witness does, a child in the same group that blocks all signals
 * and does nothing: what is sent to the group stays pending for it.
 */
#ifndef PTRC_SRC_CLI_GROUP_SIGNAL_H
#define PTRC_SRC_CLI_GROUP_SIGNAL_H

#include <stdbool.h>

/* From here on signals are witnessed. Without memory for a process none is. */
void ptrc_group_signal_begin(void);

/*
 * Whether the group was sent this signal, too, since it was asked for last. "No" takes
 * some milliseconds, as somebody may be about to send it to one after the other.
 */
bool ptrc_group_signal_is_for_group(int signal);

void ptrc_group_signal_end(void);

#endif
