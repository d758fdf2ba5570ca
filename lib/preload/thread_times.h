/* SPDX-License-Identifier: MIT */
/*
 * For how long each thread was on a processor, and for how long it was runnable without one: events
 * wait.thread at the start and the end of the thread, from the kernel's statistics in /proc. These
 * need no perf events, which the system may not allow.
 */
#ifndef PTRC_LIB_PRELOAD_THREAD_TIMES_H
#define PTRC_LIB_PRELOAD_THREAD_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

enum ptrc_thread_moment { PTRC_THREAD_START, PTRC_THREAD_END };

/* Records an event about the thread of this process with this ID: with times of 0 if it is_new;
 * otherwise only if the kernel reports its times. */
void ptrc_thread_times_record(enum ptrc_thread_moment, int32_t thread, bool is_new);

/* Set in the child of a fork(): the start of its first thread is to be recorded, but only before
 * its first other event. So a child that at once executes another program has no event from before
 * the exec, and readers do not take the new program's events for events of the old one. */
extern PTRC_HIDDEN _Atomic bool ptrc_thread_start_is_due;

/* If ptrc_thread_start_is_due is set, clears it, and records the start of the calling thread, which
 * is the only one of the process. */
PTRC_COLD void ptrc_thread_times_record_due(void);

#endif
