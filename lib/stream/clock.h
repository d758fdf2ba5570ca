/* SPDX-License-Identifier: MIT */
/*
 * Counter to time. Events carry the raw counter; a stream holds a growing list of
 * entries {counter, ns, mult} that turn it into CLOCK_MONOTONIC and, with the offset
 * taken at creation, into CLOCK_REALTIME that no step of the wall clock touches.
 *
 * What makes it one function for every reader, at any time: an entry is appended only
 * after clock_due has passed, and no event is stamped beyond the clock_due its writer
 * knows. So what an entry says of a recorded event never changes, times never go
 * backwards, and log and live reader agree to the nanosecond.
 */
#ifndef PTRC_LIB_STREAM_CLOCK_H
#define PTRC_LIB_STREAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* Append an entry if one is due at counter now. Any process, any thread; never waits long. */
void ptrc_clock_update(struct ptrc_stream_header *h, uint64_t now);
/* Remember (counter, time) of now, early in the process: the longer before the first stream
 * is made, the better the slope that stream begins with. */
void ptrc_clock_first_pair(void);
/* Fill in t0, the first entry and the offset of a new stream's header. */
void ptrc_clock_init(struct ptrc_stream_header *h);

/* Ticks to nanoseconds of CLOCK_REALTIME. The cursor remembers the entry last used. */
struct ptrc_clock_cursor {
	uint64_t from, to; /* counters for which the copy below is valid */
	int64_t ns;
	uint64_t mult;
};
int64_t ptrc_clock_realtime(const struct ptrc_stream_header *h,
			    struct ptrc_clock_cursor *c, uint64_t counter);

#endif
