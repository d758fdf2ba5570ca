/* SPDX-License-Identifier: MIT */
/*
 * Barriers, and waiting for event calls. A writer marks its slot while an event call is under way.
 * A process that needs everything recorded up to a moment fixes the moment, executes the barrier,
 * and waits until the calls that it finds marked are done. Calls that start later get later stamps.
 *
 * The barrier is the expensive half of an asymmetric one. When ptrc_barrier() returns, every thread
 * that records into the stream has executed a full memory barrier since the call. So an event call
 * that marks its slot later sees what this process stored before the barrier, and this process sees
 * the marks of all other event calls under way. It costs writers nothing, because membarrier
 * interrupts them. Where the kernel has no membarrier, the control word of a stream has
 * PTRC_CTL_FENCE, and its writers execute fences.
 */
#ifndef PTRC_LIB_STREAM_MARKS_H
#define PTRC_LIB_STREAM_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* Registers this process for the barriers of others. False if the kernel cannot. */
bool ptrc_barrier_register(void);
/* Whether this kernel has the barrier. If not, streams are created with PTRC_CTL_FENCE. */
bool ptrc_barrier_is_available(void);
void ptrc_barrier(struct ptrc_stream_header *h);

/* A process remembers this many event calls for which it waited in vain. If there are more at a
 * time, it waits for some of them again. */
enum { PTRC_GIVEN_UP_MAX = 8 };

/* Event calls for which this process waited in vain, because their thread is stopped or left the
 * call by siglongjmp. It waits for the slot again once it has seen it without a mark or with
 * another one. Private to the process. */
struct ptrc_given_up {
	struct {
		uint32_t slot;
		uint64_t mark; /* 0: empty entry */
	} call[PTRC_GIVEN_UP_MAX];
	uint32_t next; /* entry to overwrite next */
	bool has_any;
};

/*
 * Waits for event calls in the slots from `from` on, for at most *left_ns, and subtracts the time
 * waited. Does not wait for calls of dead threads. Returns the first slot that is still at work;
 * UINT32_MAX if there is none.
 *
 * Time during which the waiting process itself was stopped hardly counts, because the writers may
 * have been stopped together with it.
 */
uint32_t ptrc_marks_wait(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			 uint32_t from, int64_t *left_ns);
/* Whether an event call is under way in the slot for which ptrc_marks_wait() would wait. */
bool ptrc_marks_is_under_way(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			     uint32_t slot);
/* Waits for all event calls under way, at most 100 ms for each and a second in all. Those that
 * take longer are given up, and their records appear late. */
void ptrc_marks_wait_all(struct ptrc_stream_header *h, struct ptrc_given_up *given_up);
/* Excludes the event call that is under way in the slot from later waits. */
void ptrc_marks_give_up(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			uint32_t slot);

#endif
