/* SPDX-License-Identifier: MIT */
/*
 * Raises a soft resource limit of the calling process for a moment, for work of the library that
 * the user did not mean to limit: the file size limit while a shared object gets its size, and
 * the number of processes while a new keeper is started in place of a killed one. Raw system
 * calls only.
 *
 * A limit belongs to the whole process. So it is raised for a few system calls only, by one thread
 * at a time, and only if it is lower than the work needs.
 */
#ifndef PTRC_LIB_BASE_LIMIT_H
#define PTRC_LIB_BASE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

struct ptrc_limit {
	struct rlimit old;
	int resource;
	/* is_in_the_way: the soft limit was below the need. is_raised: it was raised. was_pending:
	 * a SIGXFSZ was pending before the work under the raised limit. */
	bool is_in_the_way, is_raised, was_pending;
};

/* Raises the soft limit to the hard one if the soft limit is below `need`. The caller blocks all
 * signals until after ptrc_limit_restore(): no handler may run under a raised limit, and a SIGXFSZ
 * must stay pending until ptrc_limit_restore() discards it. */
void ptrc_limit_raise(struct ptrc_limit *l, int resource, uint64_t need);
/* Restores the limit. `error` is the error number (0: none) of the work that was done under the
 * raised limit. If it is EFBIG, discards the SIGXFSZ that this work has raised. */
void ptrc_limit_restore(const struct ptrc_limit *l, int error);

/* The hard limit, up to which ptrc_limit_raise() can raise the soft one. */
uint64_t ptrc_limit_most(int resource);

#endif
