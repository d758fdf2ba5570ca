/* SPDX-License-Identifier: MIT */
/*
 * Writing a file that is no concern of the process' own file size limit (RLIMIT_FSIZE): an
 * object of ours, the log of another process. Raw system calls only.
 *
 * The limit is the whole process'. It is raised for the time of a few system calls, by one
 * thread at a time, and only where it would stand in the way.
 */
#ifndef PTRC_LIB_BASE_SIZE_LIMIT_H
#define PTRC_LIB_BASE_SIZE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "lib/base/common.h"

struct ptrc_size_limit {
	struct rlimit old;
	bool is_in_the_way, is_raised, was_pending;
};

/* Before a file grows to `size` bytes. Signals are blocked, until after the second: a limit
 * that is raised must not be seen by a handler, and a SIGXFSZ is caught before it is
 * delivered. */
void ptrc_size_limit_raise(struct ptrc_size_limit *l, uint64_t size) PTRC_NONNULL();
/* After that. err: the error number of what was tried. */
void ptrc_size_limit_restore(const struct ptrc_size_limit *l, int err) PTRC_NONNULL();

/* As far as it can be raised. */
uint64_t ptrc_size_limit_most(void);

#endif
