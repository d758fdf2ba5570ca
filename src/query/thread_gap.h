/* SPDX-License-Identifier: MIT */
/*
 * The time from an event to the event before of the same thread: the field gap. All events of a log pass here in their
 * order, selected or not.
 *
 * A thread is identified by its process, its number and its address, as the kernel uses numbers again. There is no
 * time for the first event of a thread, for events that no thread recorded, and after a place where events were lost,
 * as the event before may be among them.
 */
#ifndef PTRC_SRC_QUERY_THREAD_GAP_H
#define PTRC_SRC_QUERY_THREAD_GAP_H

#include <posixtrace-log.h>
#include <stdint.h>

#include "src/base/table.h"

#define PTRC_THREAD_GAP_NONE INT64_MIN

/* Starts zeroed. Its memory grows with the threads. */
struct ptrc_thread_gap {
	struct ptrc_table threads;
	/* The number of places with losses so far. */
	uint64_t period;
};

/* Returns the nanoseconds since the event before, or PTRC_THREAD_GAP_NONE. */
int64_t ptrc_thread_gap_take(struct ptrc_thread_gap *, const struct posixtrace_event *);

void ptrc_thread_gap_forget(struct ptrc_thread_gap *);

#endif
