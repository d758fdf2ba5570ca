/* SPDX-License-Identifier: MIT */
/*
 * The processes of which a log has events, in PROCESS packets: what /proc tells of them. The keeper
 * looks at a process when it is told that the process begins to record, and when it meets events of
 * one that it does not know; while events of it come, once a second it looks whether the process has
 * changed. What it finds waits in memory until the next flush. Nothing of this makes a flush fail.
 * Freestanding.
 */
#ifndef PTRC_LIB_LOG_LOG_PROCESS_H
#define PTRC_LIB_LOG_LOG_PROCESS_H

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* The log is empty and knows no process. What waits goes on waiting. */
void ptrc_log_processes_begin(struct ptrc_log_writer *w);
void ptrc_log_processes_free(struct ptrc_log_processes *p);

/* Whether /proc tells of our processes: that of another pid namespace would tell of others. */
bool ptrc_log_processes_has_proc(struct ptrc_log_writer *w);
/* The time, by the clock of the events. */
int64_t ptrc_log_realtime_now(const struct ptrc_log_writer *w);

/* Looks at the processes that have said in the stream's header that they record. */
void ptrc_log_processes_arrive(struct ptrc_log_writer *w);
/* Looks at the processes of the events in the batch, as far as that is due, and writes the packets
 * that wait. */
void ptrc_log_processes_write(struct ptrc_log_writer *w);

/* Takes over what somebody has observed of a process, unless the keeper itself has found it so. */
void ptrc_log_processes_observed(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch);

/* Between two flushes: the same, and writes what is known of them. */
void ptrc_log_processes_meet(struct ptrc_log_writer *w);

#endif
