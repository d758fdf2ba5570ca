/* SPDX-License-Identifier: MIT */
/*
 * How long each event of a log was after the event before it of the same thread: the field gap.
 * All events of the log have to pass here, in their order, whichever of them are selected.
 *
 * A thread is one of a process and of the kernel's numbers, with its identifier there, as the kernel
 * gives a number to another thread some day. There is no time since the event before for the first
 * event of a thread, for events that no thread has recorded, and behind a place where events were
 * lost: the event before may be among them.
 */
#ifndef PTRC_SRC_QUERY_THREAD_GAP_H
#define PTRC_SRC_QUERY_THREAD_GAP_H

#include <posixtrace-log.h>
#include <stdint.h>

#include "src/base/table.h"

/* There is no such event. */
#define PTRC_THREAD_GAP_NONE INT64_MIN

/* Starts zeroed. Its memory grows with the threads. */
struct ptrc_thread_gap {
	struct ptrc_table threads;
	/* The places with losses so far. */
	uint64_t period;
};

/* Takes the next event. Returns the nanoseconds since the one before, or PTRC_THREAD_GAP_NONE. */
int64_t ptrc_thread_gap_take(struct ptrc_thread_gap *, const struct posixtrace_event *);

/* Forgets all events. */
void ptrc_thread_gap_forget(struct ptrc_thread_gap *);

#endif
