/* SPDX-License-Identifier: MIT */
/*
 * The heavy half of an asymmetric barrier: when it returns, every writer that runs has
 * passed a full memory barrier since the call. So what was stored before is seen by every
 * event call that begins its protocol later, and the marks of all others are visible here.
 * Writers pay nothing (membarrier interrupts them); where the kernel has no membarrier the
 * stream's control word carries PTRC_CTL_FENCE and writers fence for themselves.
 */
#ifndef PTRC_LIB_STREAM_BARRIER_H
#define PTRC_LIB_STREAM_BARRIER_H

#include <stdbool.h>

#include "lib/stream/stream_layout.h"

/* Make this process one that barriers of others reach. False if the kernel cannot. */
bool ptrc_barrier_register(void);
/* Can this kernel do it at all? If not, streams are created with PTRC_CTL_FENCE. */
bool ptrc_barrier_is_available(void);
void ptrc_barrier(struct ptrc_stream_header *h);

#endif
