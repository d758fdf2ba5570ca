/* SPDX-License-Identifier: MIT */
/*
 * Watches the process that writes the log of a trace, and has another one started at once if
 * somebody kills it. Without that, the stream would fill up, and events would be lost, until the
 * command calls the library again.
 */
#ifndef PTRC_SRC_SESSION_KEEPER_WATCH_H
#define PTRC_SRC_SESSION_KEEPER_WATCH_H

#include <sys/types.h>
#include <trace.h>

/* Starts a thread that watches until the trace, which has a log, is shut down. A thread, because
 * the main loop may be busy, for instance while the log is a pipe that nobody reads. Signals that
 * the caller has blocked stay blocked in it. If no thread can be started, the next call of the
 * library starts another process, as in any program. */
void ptrc_keeper_watch(trace_id_t);

/* The process that writes the log of the trace that was watched last; 0: it is not known. Never waits. */
pid_t ptrc_keeper_watched(void);

#endif
