/* SPDX-License-Identifier: MIT */
/*
 * Raising a soft resource limit of the calling process for a moment, for work that the user
 * does not mean to limit by it: the file size limit while an object in shared memory gets its
 * size, the number of processes while a keeper takes the place of a killed one.
 *
 * A limit belongs to the whole process. So it is raised for a few system calls only, by one
 * thread at a time, and only where it would stand in the way. Raw system calls only.
 */
#ifndef PTRC_LIB_BASE_LIMIT_H
#define PTRC_LIB_BASE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "lib/base/common.h"

struct ptrc_limit {
	struct rlimit old;
	int resource;
	bool is_in_the_way, is_raised, was_pending;
};

/* Raises the soft limit of `resource` to the hard one if it is below `need`. The caller keeps
 * all signals blocked until after ptrc_limit_restore(): no handler may run under a raised
 * limit, and a SIGXFSZ must stay pending until it is taken back there. */
void ptrc_limit_raise(struct ptrc_limit *l, int resource, uint64_t need);
/* Restores the limit. `error` is the error number (0: none) of what was done meanwhile: after
 * EFBIG, takes back the SIGXFSZ that came with it. */
void ptrc_limit_restore(const struct ptrc_limit *l, int error);

/* The hard limit: ptrc_limit_raise() can raise the soft one as far as this. */
uint64_t ptrc_limit_most(int resource);

#endif
