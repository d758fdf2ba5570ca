/* SPDX-License-Identifier: MIT */
/*
 * From stamps to times. Events carry a stamp of the counter. A stream holds a growing
 * list of entries {counter, ns, mult}, which turn stamps into CLOCK_MONOTONIC; an offset
 * that is taken when the stream is created turns that into CLOCK_REALTIME, so that
 * setting the wall clock changes no time of an event.
 *
 * Every reader, at any moment, gets the same time for the same event. This holds because
 * a process appends an entry only after the moment `clock_due` in the header, and no
 * writer stamps an event at or after the clock_due that it knows. So a new entry never
 * changes the time of an event that is recorded, times never go backwards, and log and
 * live reader agree to the nanosecond.
 */
#ifndef PTRC_LIB_STREAM_CLOCK_H
#define PTRC_LIB_STREAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* Append an entry if one is due at stamp `now`. Any thread of any process may; it does
 * not wait long for another one that appends. */
void ptrc_clock_update(struct ptrc_stream_header *h, uint64_t now);
/* Remember the counter and the time of now. A new stream's first entry needs the
 * counter's rate, and the longer ago this was called, the better the rate is known. */
void ptrc_clock_first_pair(void);
/* Fill in t0, the first entry and the offset in the header of a new stream. */
void ptrc_clock_init(struct ptrc_stream_header *h);

/* A copy of the entry that was used last. All zero: none yet. */
struct ptrc_clock_cursor {
	uint64_t from, to; /* stamps for which the copy is valid */
	int64_t ns;
	uint64_t mult;
};
/* The time of a stamp: nanoseconds of CLOCK_REALTIME. */
int64_t ptrc_clock_realtime(const struct ptrc_stream_header *h, struct ptrc_clock_cursor *c,
			    uint64_t counter);

#endif
