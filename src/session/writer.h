/* SPDX-License-Identifier: MIT */
/* The processes that write logs, seen from outside: whether they get on. */
#ifndef PTRC_SRC_SESSION_WRITER_H
#define PTRC_SRC_SESSION_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether a signal or a debugger has stopped the process. */
bool ptrc_writer_is_stopped(pid_t);

/* What was seen of a process last, since when it has got no further, and that it is stopped. Starts zeroed,
 * with the process. */
struct ptrc_writer_watch {
	pid_t pid;
	uint64_t ticks;
	int64_t since_ns;
	bool is_stopped;
};

/* Looks at the process. Returns for how long each look has found it stopped, or asleep without any processor
 * time since; 0 if it runs, waits for a disk, or is no process that writes logs. */
int64_t ptrc_writer_look(struct ptrc_writer_watch *);

/* Prints a message if the process that writes this log is stopped. */
void ptrc_writer_say_stopped(const char *log);

#endif
