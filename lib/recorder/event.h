/* SPDX-License-Identifier: MIT */
/* What posix_trace_event calls when the fast way (fast.h) does not do. */
#ifndef PTRC_LIB_RECORDER_EVENT_H
#define PTRC_LIB_RECORDER_EVENT_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/recorder/fast.h"
#include "lib/recorder/thread.h"

/* An event call gives up after so many looks at a stream whose state keeps changing. */
#define PTRC_EVENT_TRIES 10000

/* The cold way, for everything out of the ordinary: the first event of a process, a thread or a
 * stream; a full chunk; a changed state; an event call inside another one; an id that may be
 * unknown. `todo` are the page slots whose streams are to get the event. */
PTRC_COLD void ptrc_event_cold(uint64_t todo, uint32_t id, const void *data, uint64_t len,
			       uint64_t addr, uint64_t frame);
/* Record an event if several streams trace the process, or if the thread is not set up for the
 * only one. */
PTRC_NOINLINE void ptrc_event_each(uint32_t id, const void *data, uint64_t len, uint64_t addr,
				   uint64_t active, uint64_t frame);
/* Finish an event call whose outcome is PTRC_WAKE or PTRC_LOSE. The stream stays mapped until the
 * thread is at rest again. */
PTRC_COLD void ptrc_event_finish(struct ptrc_thread *t, struct ptrc_stream_header *h,
				 enum ptrc_outcome outcome);

#endif
