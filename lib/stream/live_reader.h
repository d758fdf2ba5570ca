/* SPDX-License-Identifier: MIT */
/*
 * Reading a live stream in order: what the three getnext functions stand on. A plain
 * stream's reader frees what it reports; a logged stream's is a tee that only looks
 * (GETNEXT-29 to -32).
 *
 * Events are merged from the chunks in batches: a moment `until` is fixed, then all event
 * calls at work are waited for, then everything stamped up to it is complete and in order.
 */
#ifndef PTRC_LIB_STREAM_LIVE_READER_H
#define PTRC_LIB_STREAM_LIVE_READER_H

#include <posixtrace.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/clock.h"
#include "lib/model/sequencer.h"
#include "lib/stream/stream.h"

/* An event as reported; data is valid until the next call. */
struct ptrc_live_event {
	uint64_t stamp;
	int64_t ns;
	struct ptrc_context origin;
	uint64_t addr;
	const void *data;
	uint32_t len;
	uint32_t id_flags;
};

struct ptrc_live_run;

struct ptrc_live_reader {
	struct ptrc_stream *stream;
	bool is_tee;
	uint64_t epoch; /* what is below belongs to it */
	struct ptrc_sequencer sequencer;
	struct ptrc_clock_cursor clock;

	uint64_t until;
	uint64_t walked; /* counter: everything up to it was in the heap, or has been */
	struct ptrc_live_run **heap; /* smallest stamp first */
	struct ptrc_live_run *runs;  /* one per chunk, with the reader's place in it */
	uint32_t heap_count, run_capacity;

	bool is_in_gap;	    /* a loss was met, and what is behind it not yet */
	uint64_t gap_first; /* its first event */
	uint64_t told;	    /* latest stamp of those reported: losses up to it are, too */
	uint64_t stop_told; /* run whose automatic STOP was reported, + 1 */
	/* Waiting for the event calls that were at work when `until` was fixed: */
	bool is_settling;
	uint32_t settle_slot; /* all before it are done with */
	int64_t settle_since, settle_seen;

	/* Of a tee: what it passed over because of the filter that was in force by then. The
	 * keeper has counted it, or will. By type. */
	struct posixtrace_type_count *withheld;

	/* Made-up events that come before the one in `buffer`. */
	struct ptrc_live_event queue[3];
	unsigned queue_at, queue_count;
	uint8_t *buffer;
	uint32_t buffer_size;
};

int ptrc_live_reader_init(struct ptrc_live_reader *r, struct ptrc_stream *s, bool is_tee);
void ptrc_live_reader_destroy(struct ptrc_live_reader *r);

/* The next event: 0, ENODATA if there is none now, ENOMEM. Waits for event calls at work
 * at most max_hold_ns; if one holds longer, ENODATA (until it has held 100 ms). */
int ptrc_live_reader_next(struct ptrc_live_reader *r, int64_t max_hold_ns,
			  struct ptrc_live_event *event);

/* Fill in the first `count` types: what was consumed and what is in the stream now. False:
 * the keeper moved some meanwhile, or a clear came between; the caller tries again. */
bool ptrc_live_reader_count(struct ptrc_live_reader *r,
			    struct posixtrace_type_count *counts, size_t count);

#endif
