/* SPDX-License-Identifier: MIT */
/* Recognises the child of a vfork(). It runs in the memory of its parent, as the thread that called
 * vfork(). It records no waits and no probes, because these events would be those of the parent. */
#ifndef PTRC_LIB_PRELOAD_VFORK_H
#define PTRC_LIB_PRELOAD_VFORK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

/* The pid of the process in which this thread has called vfork(), as long as the call may still be
 * going on there; otherwise 0. */
extern PTRC_HIDDEN __thread int32_t ptrc_vfork_parent __attribute__((tls_model("initial-exec")));

PTRC_COLD bool ptrc_vfork_look(void);

/* Whether the caller is the child of a vfork(). */
static PTRC_ALWAYS_INLINE bool ptrc_vfork_is_in_child(void)
{
	return PTRC_UNLIKELY(ptrc_vfork_parent != 0) && ptrc_vfork_look();
}

#endif
