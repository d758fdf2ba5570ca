/* SPDX-License-Identifier: MIT */
/*
 * The barrier, and waiting for event calls. A writer marks its slot as long as an event call is
 * under way. A process that wants everything recorded up to a moment fixes the moment, passes the
 * barrier, and waits until the calls that it finds marked are done. A call that begins later
 * takes a later stamp.
 *
 * The barrier is the expensive half of an asymmetric one. When ptrc_barrier returns, every thread
 * that records into the stream has passed a full memory barrier since the call. So an event call
 * that marks its slot later sees what this process stored before the barrier, and this process
 * sees the marks of all other event calls under way. Writers pay nothing, because membarrier
 * interrupts them. Where the kernel has no membarrier, the control word of a stream carries
 * PTRC_CTL_FENCE, and its writers execute fences.
 */
#ifndef PTRC_LIB_STREAM_MARKS_H
#define PTRC_LIB_STREAM_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* Make this process one that the barriers of others reach. False if the kernel cannot. */
bool ptrc_barrier_register(void);
/* True if this kernel has the barrier. If not, streams are created with PTRC_CTL_FENCE. */
bool ptrc_barrier_is_available(void);
void ptrc_barrier(struct ptrc_stream_header *h);

/* A process remembers so many event calls that it waited for in vain. If there are more at a
 * time, it waits for some of them again. */
enum { PTRC_GIVEN_UP_MAX = 8 };

/* Event calls that this process waited for in vain, because their thread is stopped or left the
 * call by siglongjmp. It does not wait for them again until it has seen the slot without a mark,
 * or with another one. Private to the process. */
struct ptrc_given_up {
	struct {
		uint32_t slot;
		uint64_t mark; /* 0: this entry is empty */
	} call[PTRC_GIVEN_UP_MAX];
	uint32_t next; /* the entry that is overwritten next */
	bool has_any;  /* an entry was ever made */
};

/*
 * Wait for the event calls under way in the slots from `from` on, for at most *left_ns, from
 * which the time waited is subtracted. Calls of dead threads are not waited for. Returns the
 * first slot that is still at work, or UINT32_MAX if none is.
 *
 * If the waiting process itself was stopped for a while, that time hardly counts, since the
 * writers may have been stopped together with it.
 */
uint32_t ptrc_marks_wait(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			 uint32_t from, int64_t *left_ns);
/* Is an event call under way in the slot that ptrc_marks_wait would wait for? */
bool ptrc_marks_is_under_way(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			     uint32_t slot);
/* Wait for all event calls under way: for each 100 ms at most, and a second in all. Those that
 * take longer are given up, and their records appear late. */
void ptrc_marks_wait_all(struct ptrc_stream_header *h, struct ptrc_given_up *given_up);
/* Do not wait any more for the event call that is under way in the slot. */
void ptrc_marks_give_up(struct ptrc_stream_header *h, struct ptrc_given_up *given_up,
			uint32_t slot);

#endif
