/* SPDX-License-Identifier: MIT */
/* Has a thread ended? Asked on cold paths about owners of slots, chunks and locks. */
#ifndef PTRC_LIB_THREAD_LIFE_H
#define PTRC_LIB_THREAD_LIFE_H

#include <errno.h>
#include <stdbool.h>

#include "lib/sys.h"

/* True only if it is certain: no thread of that id exists. A reused id reads as alive. */
static inline bool ptrc_thread_is_gone(int tid)
{
	return tid > 0 && ptrc_sys(SYS_tkill, tid, 0) == -ESRCH;
}

#endif
