/* SPDX-License-Identifier: MIT */
/*
 * The frame of an event call is its stack pointer, made odd. While the call is at work, the frame is
 * stored in the thread's state and in the slots of the streams, as a mark. A signal handler that records
 * an event finds the frame of the call that it has interrupted. If a handler was left by siglongjmp(),
 * the interrupted call is gone, but its marks remain, and the thread's next event finds them. So the
 * frames of two calls are compared to find out whether the earlier call is gone.
 */
#ifndef PTRC_LIB_RECORDER_FRAME_H
#define PTRC_LIB_RECORDER_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

/* If the frames of two calls of a thread are closer than this, in bytes, the calls were at the same
 * depth of the stack, so the earlier call has ended. */
#define PTRC_FRAME_NEAR_BYTES 64

/* The frame of the calling function. It is odd and larger than 1, so at least two of its bits are set: it
 * never equals the word `active` of a page (list of streams) if only one bit of that is set. */
static PTRC_ALWAYS_INLINE uint64_t ptrc_frame_here(void)
{
	uint64_t frame;

#if defined(__x86_64__)
	__asm__ volatile("lea 1(%%rsp), %0" : "=r"(frame));
#else
	__asm__ volatile("add %0, sp, #1" : "=r"(frame));
#endif
	return frame;
}

/* Whether both frames are at the same place on the stack. Then the call at `old` has certainly
 * ended. */
static inline bool ptrc_frame_is_same(uint64_t old, uint64_t frame)
{
	return old - frame < PTRC_FRAME_NEAR_BYTES || frame - old < PTRC_FRAME_NEAR_BYTES;
}

/* Whether the event call with the frame `old` has certainly or very likely ended, as seen from a
 * call of the same thread with the frame `frame`. Stacks grow down: a handler's frame is below the
 * frame that it interrupted, so if `old` is below `frame`, its call was left by siglongjmp(). A
 * wrong guess (with coroutines) makes the thread need one writer more, but damages nothing.
 * blocked: the signals that were blocked when the call at `frame` began. */
bool ptrc_frame_is_dead(uint64_t old, uint64_t frame, uint64_t blocked);

#endif
