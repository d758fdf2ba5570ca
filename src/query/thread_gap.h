/* SPDX-License-Identifier: MIT */
/*
 * The field `gap` of an event: the time since the preceding event of the same thread. All events of a log are
 * passed to ptrc_thread_gap_take(), in their order, selected or not.
 *
 * A thread is identified by its process, its number and its address, as the kernel reuses numbers. An event has
 * no gap if it is the first of its thread, if no thread recorded it, or if events were lost since the preceding
 * one, because an event of this thread may be among them.
 */
#ifndef PTRC_SRC_QUERY_THREAD_GAP_H
#define PTRC_SRC_QUERY_THREAD_GAP_H

#include <posixtrace-log.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/table.h"

#define PTRC_THREAD_GAP_NONE INT64_MIN

/* Starts zeroed. Its memory grows with the number of threads. */
struct ptrc_thread_gap {
	struct ptrc_table threads;
	/* The number of places at which events were lost so far. */
	uint64_t period;
};

/* Returns the nanoseconds since the preceding event of the same thread, or PTRC_THREAD_GAP_NONE. is_loss says
 * whether events were lost next to this event. */
int64_t ptrc_thread_gap_take(struct ptrc_thread_gap *, const struct posixtrace_event *,
			     bool is_loss);

void ptrc_thread_gap_forget(struct ptrc_thread_gap *);

#endif
