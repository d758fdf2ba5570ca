/* SPDX-License-Identifier: MIT */
/* The processes that the calling process traces and that still run. */
#ifndef PTRC_SRC_SESSION_TRACED_H
#define PTRC_SRC_SESSION_TRACED_H

#include <stddef.h>
#include <trace.h>

struct ptrc_traced {
	size_t count;
	/* The first ones as "name (pid), name (pid)". */
	char text[160];
	/* A pidfd of one of them, which the caller closes, or -1. */
	int fd;
};

/* Finds the processes that this trace, made by the calling process, traces. */
void ptrc_traced_find(struct ptrc_traced *, trace_id_t);

#endif
