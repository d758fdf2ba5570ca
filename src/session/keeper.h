/* SPDX-License-Identifier: MIT */
/* Watches keepers, the processes that write logs: whether they live and make progress. If the keeper of a session
 * is killed, starts another one at once. Without this, the stream would get full and lose events until the
 * controller next calls the library. */
#ifndef PTRC_SRC_SESSION_KEEPER_H
#define PTRC_SRC_SESSION_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <trace.h>

/* Whether the process was stopped, by a signal or by a debugger. */
bool ptrc_keeper_is_stopped(pid_t);

/* The result of the last look at a process. Before the first look, the caller sets .pid and zeroes the rest. */
struct ptrc_keeper_look {
	pid_t pid;
	/* The processor time that the process had used, in clock ticks. */
	uint64_t ticks;
	/* The monotonic time, in ns, at which the process was last seen to make progress; 0 before the first
	 * look. */
	int64_t since_ns;
	bool is_stopped;
};

/* Looks at a keeper. Returns the nanoseconds since it was last seen to make progress: each look since then found
 * it stopped, or asleep without having used processor time. Returns 0 if it runs, waits for a disk, or is no
 * keeper. */
int64_t ptrc_keeper_look(struct ptrc_keeper_look *);

/* Whether a keeper writes this log. *keeper becomes its process ID; 0 if it is of another pid namespace. */
bool ptrc_keeper_of(const char *log, pid_t *keeper);

/* Prints a message if the keeper that writes this log is stopped. */
void ptrc_keeper_say_stopped(const char *log);

/* Starts a thread that watches the keeper until the trace is shut down. It is a thread because the main loop may be
 * blocked, for example while the log is a pipe that no process reads. The thread inherits the caller's signal mask.
 * If the thread cannot be started, a killed keeper is replaced only when the controller next calls the library. */
void ptrc_keeper_watch(trace_id_t);

/* Returns, without waiting, the process ID of the keeper that ptrc_keeper_watch() watches; 0 if it is unknown. */
pid_t ptrc_keeper_watched(void);

#endif
