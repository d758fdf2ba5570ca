/* SPDX-License-Identifier: MIT */
/* Finds processes that still run: those that the calling process traces, and those that it does not trace. */
#ifndef PTRC_SRC_SESSION_TRACED_H
#define PTRC_SRC_SESSION_TRACED_H

#include <stddef.h>
#include <sys/types.h>
#include <trace.h>

struct ptrc_traced {
	size_t count;
	/* The processes that were found, as "name (pid), name (pid)"; cut with ", ..." if they are too many. */
	char text[160];
	/* A pidfd of one of the processes, which the caller closes; -1 if no process was found. */
	int fd;
};

/* Finds the running processes that the trace traces. The calling process has to be the trace's controller. */
void ptrc_traced_find(struct ptrc_traced *, trace_id_t);

/* Finds the processes in `pids` that still run and that no trace of the calling process traces. */
void ptrc_traced_find_others(struct ptrc_traced *, const pid_t *pids, size_t count);

#endif
