/* SPDX-License-Identifier: MIT */
/*
 * The expensive half of an asymmetric barrier. When ptrc_barrier returns, every thread
 * that records into the stream has passed a full memory barrier since the call. Therefore
 * an event call that marks its slot later sees what this process stored before the
 * barrier, and this process sees the marks of all other event calls that are under way.
 *
 * Writers pay nothing, because membarrier interrupts them. Where the kernel has no
 * membarrier, the control word of a stream carries PTRC_CTL_FENCE and its writers execute
 * fences.
 */
#ifndef PTRC_LIB_STREAM_BARRIER_H
#define PTRC_LIB_STREAM_BARRIER_H

#include <stdbool.h>

#include "lib/stream/stream_layout.h"

/* Make this process one that the barriers of others reach. False if the kernel cannot. */
bool ptrc_barrier_register(void);
/* True if this kernel has the barrier. If not, streams are created with
 * PTRC_CTL_FENCE. */
bool ptrc_barrier_is_available(void);
void ptrc_barrier(struct ptrc_stream_header *h);

#endif
