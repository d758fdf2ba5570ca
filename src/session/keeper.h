/* SPDX-License-Identifier: MIT */
/*
 * Watches keepers, the processes that write logs: whether they make progress and whether they live. If a
 * session's keeper is killed, starts another one at once. Otherwise the stream would fill up and lose events
 * until the next call of the library by the controller.
 */
#ifndef PTRC_SRC_SESSION_KEEPER_H
#define PTRC_SRC_SESSION_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <posixtrace.h>

/* Whether a signal or a debugger has stopped the process. */
bool ptrc_keeper_is_stopped(pid_t);

/* The last observation of a process. Starts zeroed but for .pid. */
struct ptrc_keeper_look {
	pid_t pid;
	/* Its processor time in clock ticks. */
	unsigned long long ticks;
	/* When it last made progress; 0: not observed yet. */
	int64_t since_ns;
	bool is_stopped;
};

/* Observes the process. Returns how long all observations have found it stopped, or asleep without having
 * used processor time; 0 if it runs, waits for a disk, or is no keeper. */
int64_t ptrc_keeper_look(struct ptrc_keeper_look *);

/* Prints a message if the keeper of this log is stopped. */
void ptrc_keeper_say_stopped(const char *log);

/* Starts a thread that watches the keeper until the trace is shut down. A thread, because the main loop may be
 * blocked, for instance while the log is a pipe that no process reads. It inherits the caller's signal mask. If
 * it cannot be started, only the next call of the library replaces a keeper. */
void ptrc_keeper_watch(trace_id_t);

/* The keeper that is watched; 0: not known. Never waits. */
pid_t ptrc_keeper_watched(void);

#endif
