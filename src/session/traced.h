/* SPDX-License-Identifier: MIT */
/* Finds processes that still run: those that the calling process traces, and those that it does not trace. */
#ifndef PTRC_SRC_SESSION_TRACED_H
#define PTRC_SRC_SESSION_TRACED_H

#include <stddef.h>
#include <sys/types.h>
#include <trace.h>

struct ptrc_traced {
	pid_t *pids;
	size_t count;
	/* The processes that were found, as "name (pid), name (pid)"; cut with ", ..." if they are too many. */
	char text[160];
};

/* Finds the running processes that the trace traces. The calling process has to be the trace's controller. */
void ptrc_traced_find(struct ptrc_traced *, trace_id_t);
/* Finds the running processes that are registered as traced by this controller. */
void ptrc_traced_find_of(struct ptrc_traced *, pid_t controller);

/* Makes *others of the processes in `pids` that are not in *traced, and have not ended. */
void ptrc_traced_find_others(struct ptrc_traced *others, const pid_t *pids, size_t count,
			     const struct ptrc_traced *traced);

/* Adds the processes of *more that *traced does not have. */
void ptrc_traced_add(struct ptrc_traced *traced, const struct ptrc_traced *more);

void ptrc_traced_free(struct ptrc_traced *);

#endif
