/* SPDX-License-Identifier: MIT */
/*
 * Barriers, and waiting for event calls. A writer marks its slot while an event call is under way.
 * A process that needs all events up to a moment fixes the moment, executes the barrier, and then
 * waits until each event call whose slot is marked has ended. Event calls that start later get
 * later stamps.
 *
 * The barrier is the expensive half of an asymmetric barrier. When ptrc_barrier() returns, every
 * thread that records into the stream has executed a full memory barrier since the call. So an
 * event call that marks its slot later sees what this process stored before the barrier, and this
 * process sees the marks of all other event calls under way. Writers execute no fence for it,
 * because the system call membarrier interrupts their processors. Where the kernel has no
 * membarrier, the control word of a stream has PTRC_CTL_FENCE, and its writers execute fences.
 */
#ifndef PTRC_LIB_STREAM_MARKS_H
#define PTRC_LIB_STREAM_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* Registers this process, so that the barriers of other processes reach its threads. False if the
 * kernel does not support this. */
bool ptrc_barrier_register(void);
/* Whether this kernel has the barrier. If not, streams are created with PTRC_CTL_FENCE. */
bool ptrc_barrier_is_available(void);
void ptrc_barrier(struct ptrc_stream_header *h);

/* A process remembers at most this many event calls for which it has waited in vain. If there are
 * more such calls at a time, it waits for some of them again. */
enum { PTRC_GIVEN_UP_MAX = 8 };

/* Event calls for which this process has waited in vain, because their thread is stopped or has
 * left the call by siglongjmp. The process waits for the slot of such a call again only after it
 * has seen the slot without a mark (no call) or with another mark (another call). Private to the
 * process. */
struct ptrc_given_up {
	struct {
		uint32_t slot;
		uint64_t mark; /* 0: empty entry */
	} call[PTRC_GIVEN_UP_MAX];
	uint32_t next; /* entry to overwrite next */
	bool has_any;
};

/*
 * Waits for event calls in the slots from number `from` on, for at most *left_ns nanoseconds, and
 * subtracts the time waited from *left_ns. Does not wait for calls of dead threads. Returns the
 * first slot in which an event call is still under way; UINT32_MAX if there is none.
 *
 * If this process itself is stopped while it waits, only a small part of that time is subtracted,
 * because the writers may have been stopped together with it.
 */
uint32_t ptrc_marks_wait(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			 uint32_t from, int64_t *left_ns);
/* Whether ptrc_marks_wait() would wait for this slot: an event call of a living thread is under way
 * in it, and was not given up. */
bool ptrc_marks_is_under_way(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			     uint32_t slot);
/* Waits for all event calls under way, at most 100 ms for each call and one second in all. Calls
 * that take longer are given up, and their events are seen only later. */
void ptrc_marks_wait_all(struct ptrc_stream_header *h, struct ptrc_given_up *given_up);
/* Excludes the event call that is under way in the slot from later waits. */
void ptrc_marks_give_up(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			uint32_t slot);

#endif
