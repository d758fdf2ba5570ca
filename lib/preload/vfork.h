/* SPDX-License-Identifier: MIT */
/* Recognises the child of a vfork(). It runs in the memory of its parent, as the thread that called
 * vfork(). It records no waits, because they would be recorded as waits of the parent. */
#ifndef PTRC_LIB_PRELOAD_VFORK_H
#define PTRC_LIB_PRELOAD_VFORK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

/* The pid of the process in which this thread has called vfork(), if the call may not have returned
 * yet in the parent; otherwise 0. */
extern PTRC_HIDDEN __thread int32_t ptrc_vfork_parent __attribute__((tls_model("initial-exec")));

PTRC_COLD bool ptrc_vfork_look(void);

/* Whether the caller is the child of a vfork(). */
static PTRC_ALWAYS_INLINE bool ptrc_vfork_is_in_child(void)
{
	return PTRC_UNLIKELY(ptrc_vfork_parent != 0) && ptrc_vfork_look();
}

#endif
