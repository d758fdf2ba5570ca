/* SPDX-License-Identifier: MIT */
/*
 * Whose a log is: the machine in a HOST packet, its clocks in CLOCK packets, the processes of which the log has
 * events in PROCESS packets, and the names of their threads in THREADS packets.
 *
 * The keeper looks into /proc: at a process when it is told that the process begins to record, and when it
 * meets events of one that it does not know; while events of it come, once a second it looks whether the
 * process has changed. It finds the threads in the slots of the stream; one that ended before it looks has no
 * name. What it finds waits in memory until the next flush. Nothing of this makes a flush fail, and nothing of
 * it is done for each event. Freestanding.
 */
#ifndef PTRC_LIB_LOG_LOG_ORIGIN_H
#define PTRC_LIB_LOG_LOG_ORIGIN_H

#include "lib/log/log_state.h"

/* For a log that is empty: forgets what it has told, and writes HOST and CLOCK. What was found of processes
 * goes on waiting. */
void ptrc_log_origin_begin(struct ptrc_log_writer *w);
void ptrc_log_origin_free(struct ptrc_log_origins *x);

/* Writes a CLOCK packet. if_due: only if the last one is a second old, and has become wrong or is older than a
 * part of the log's age; so their number stays small. */
void ptrc_log_origin_clock(struct ptrc_log_writer *w, bool if_due);

/* Looks at the processes that have said in the stream's header that they record, and before that at threads:
 * a process that has waited for this may end with them. */
void ptrc_log_origin_arrive(struct ptrc_log_writer *w, bool with_threads);
/* Between two flushes: looks at those processes, and writes what is known of them. */
void ptrc_log_origin_meet(struct ptrc_log_writer *w);
/* In a flush, before its events are written: looks at their processes, and at the threads, as far as that is
 * due, and writes what waits. */
void ptrc_log_origin_write(struct ptrc_log_writer *w);
/* Takes over what somebody has observed of a process, unless the keeper itself has found it so. */
void ptrc_log_origin_observed(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch);

#endif
