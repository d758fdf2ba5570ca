/* SPDX-License-Identifier: MIT */
/*
 * The first access to a page of a sparse shared object ends in SIGBUS if the file system
 * is full. So pages are backed with memory before the first access, by a call that can
 * fail.
 */
#ifndef PTRC_LIB_BASE_POPULATE_H
#define PTRC_LIB_BASE_POPULATE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/sys.h"

#define PTRC_MADV_POPULATE_WRITE 23

/* False: there is no memory. Kernels before 5.14 do not know the advice; there the first
 * access has to be risked. */
static inline bool ptrc_populate(const void *start, uint64_t bytes)
{
	uintptr_t from = (uintptr_t)start & ~(uintptr_t)4095;
	uintptr_t to = ((uintptr_t)start + bytes + 4095) & ~(uintptr_t)4095;
	long ret = ptrc_sys(SYS_madvise, from, to - from, PTRC_MADV_POPULATE_WRITE);

	return ret == 0 || ret == -EINVAL || ret == -ENOSYS;
}

#endif
