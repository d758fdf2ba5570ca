/* SPDX-License-Identifier: MIT */
/*
 * The processes that write logs, seen from outside: whether they get on, and whether they are still there. If
 * somebody kills that of a session, another one is started at once. Without that, the stream would fill up, and
 * events would be lost, until the command calls the library again.
 */
#ifndef PTRC_SRC_SESSION_KEEPER_H
#define PTRC_SRC_SESSION_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <posixtrace.h>

/* Whether a signal or a debugger has stopped the process. */
bool ptrc_keeper_is_stopped(pid_t);

/* The last look at a process: since when it has got no further, and whether it is stopped. Starts zeroed,
 * with the process. */
struct ptrc_keeper_look {
	pid_t pid;
	uint64_t ticks;
	int64_t since_ns;
	bool is_stopped;
};

/* Looks at the process. Returns for how long each look has found it stopped, or asleep without any processor
 * time since; 0 if it runs, waits for a disk, or is no process that writes logs. */
int64_t ptrc_keeper_look(struct ptrc_keeper_look *);

/* Prints a message if the process that writes this log is stopped. */
void ptrc_keeper_say_stopped(const char *log);

/* Starts a thread that watches until the trace, which has a log, is shut down. A thread, because
 * the main loop may be busy, for instance while the log is a pipe that no process reads. Signals that
 * the caller has blocked stay blocked in it. If no thread can be started, the next call of the
 * library starts another process, as in any program. */
void ptrc_keeper_watch(trace_id_t);

/* The process that writes the log of the trace that was watched last; 0: it is not known. Never waits. */
pid_t ptrc_keeper_watched(void);

#endif
