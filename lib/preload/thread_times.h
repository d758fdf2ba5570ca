/* SPDX-License-Identifier: MIT */
/*
 * How long a thread was on a processor and runnable, as the kernel counts it for each thread: events wait.thread at
 * the start and at the end of the thread. So this is known also where the kernel allows no perf events.
 */
#ifndef PTRC_LIB_PRELOAD_THREAD_TIMES_H
#define PTRC_LIB_PRELOAD_THREAD_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

enum ptrc_thread_moment { PTRC_THREAD_START, PTRC_THREAD_END };

/* Records an event about this thread of the process, unless the kernel does not say what the thread has used. */
void ptrc_thread_times_record(enum ptrc_thread_moment, int32_t thread);

/* Records the start of the calling thread, which has used nothing yet. */
void ptrc_thread_times_record_new(void);

/* In the child of a fork(): the start of its first thread is to be recorded before any other event. A child that
 * executes another program at once has no event of its own, so that no event of that program seems to be of the
 * program of its parent. */
extern PTRC_HIDDEN _Atomic bool ptrc_thread_start_is_due;

/* Records that start, if it is due. The process has no other thread yet. */
PTRC_COLD void ptrc_thread_times_record_due(void);

#endif
