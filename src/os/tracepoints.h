/* SPDX-License-Identifier: MIT */
/* Finds the kernel's numbers of the tracepoints at which each system call begins and ends. */
#ifndef PTRC_SRC_OS_TRACEPOINTS_H
#define PTRC_SRC_OS_TRACEPOINTS_H

#include <stdint.h>

/* The numbers of the tracepoints sys_enter and sys_exit, in any order: their records differ in size. */
struct ptrc_tracepoints {
	uint32_t numbers[2];
};

/* Returns EACCES or EPERM if the kernel refuses tracepoints to this user, otherwise 0. */
int ptrc_tracepoints_refusal(void);

/* Finds the numbers. Returns 0; EACCES or EPERM if the kernel refuses tracepoints to this user; or
 * ENOENT if the numbers were not found. */
int ptrc_tracepoints_find(struct ptrc_tracepoints *);

/* Finds the numbers by trying those from `first` to `last`. A new process opens the tracepoints, so that the caller
 * does not wait while the kernel closes them, which takes some 20 ms each. Returns 0, or ENOENT if none fits. */
int ptrc_tracepoints_try(uint32_t first, uint32_t last, struct ptrc_tracepoints *);

#endif
