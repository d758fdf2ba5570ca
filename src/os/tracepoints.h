/* SPDX-License-Identifier: MIT */
/* Finds the kernel's numbers of the tracepoints at which each system call begins and ends. */
#ifndef PTRC_SRC_OS_TRACEPOINTS_H
#define PTRC_SRC_OS_TRACEPOINTS_H

#include <stdint.h>

/* The tracepoints sys_enter and sys_exit, in any order: the sizes of their records tell which is which. */
struct ptrc_tracepoints {
	uint32_t numbers[2];
};

/* Finds the numbers. Returns 0; EACCES or EPERM if the kernel refuses the tracepoints to this user;
 * or ENOENT if it has none. */
int ptrc_tracepoints_find(struct ptrc_tracepoints *);

/* Finds the numbers among those from `first` to `last`, by opening each tracepoint. Returns 0 or
 * ENOENT. The kernel takes some 20 ms to close each tracepoint that was opened, so this is done in
 * another process. */
int ptrc_tracepoints_try(uint32_t first, uint32_t last, struct ptrc_tracepoints *);

#endif
