/* SPDX-License-Identifier: MIT */
/* Processes that still run: those that the calling process traces, and others. */
#ifndef PTRC_SRC_SESSION_TRACED_H
#define PTRC_SRC_SESSION_TRACED_H

#include <stddef.h>
#include <sys/types.h>
#include <trace.h>

struct ptrc_traced {
	size_t count;
	/* The first of the processes that were found, as "name (pid), name (pid)". */
	char text[160];
	/* A pidfd of one of the processes, which the caller closes; -1 if no process was found. */
	int fd;
};

/* Finds the processes that the trace traces. The calling process has made the trace. */
void ptrc_traced_find(struct ptrc_traced *, trace_id_t);

/* Finds the processes in `pids` that still run and that no trace of the calling process traces. */
void ptrc_traced_find_others(struct ptrc_traced *, const pid_t *pids, size_t count);

#endif
