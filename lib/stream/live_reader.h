/* SPDX-License-Identifier: MIT */
/*
 * Reading a live stream in the order of time, for the three getnext functions and for cursors. The
 * reader of a plain stream consumes what it reports. The reader of a logged stream is a tee: it
 * only looks, because the keeper consumes the events. A cursor is a tee on any stream; several can
 * exist at a time. A lock excludes the readers of a process from each other.
 *
 * The reader works in batches. It fixes a moment, looks for event calls under way, and merges the
 * contents of the chunks up to the moment, or up to the time before which none of these calls can
 * add an event: all of that is complete and in order. A writer's stamps never go back, so the stamp
 * of its last event is such a time. The reader waits only if there is no event up to it.
 */
#ifndef PTRC_LIB_STREAM_LIVE_READER_H
#define PTRC_LIB_STREAM_LIVE_READER_H

#include <posixtrace-log.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/model/sequencer.h"
#include "lib/stream/clock.h"
#include "lib/stream/consumer.h"
#include "lib/stream/stream.h"

/* A reported event; `data` is valid until the next call. */
struct ptrc_live_event {
	uint64_t stamp;
	int64_t ns;
	struct ptrc_context origin;
	uint64_t addr;
	const void *data;
	uint32_t len;
	uint32_t id_flags;
};

struct ptrc_live_chunk;

struct ptrc_event_sums {
	uint64_t user, system;
	uint64_t lost; /* lost in the stream, of either kind */
};

struct ptrc_live_reader {
	struct ptrc_stream *stream;
	struct ptrc_consumer consumer;
	bool is_tee;
	struct ptrc_live_reader *next_tee; /* in the stream's list */
	/* Read only events recorded up to this stamp; 0: all. */
	uint64_t limit;
	uint64_t epoch; /* of the stream; all that follows belongs to it */
	struct ptrc_sequencer sequencer;
	struct ptrc_clock_cursor clock;
	/* A tee may report only some event types: those with a bit here. */
	bool is_selective;
	uint64_t wanted[PTRC_SET_WORD_COUNT];

	/* The stamp up to which events are complete and this batch takes them. All of them have
	 * been in the heap when it is empty. */
	uint64_t until;
	struct ptrc_live_chunk **heap;	/* its top is the chunk with the earliest event */
	struct ptrc_live_chunk *chunks; /* the reader's place in each chunk */
	uint32_t heap_count, chunk_capacity;

	struct ptrc_gap gap; /* lost events, not reported to the caller yet */
	uint64_t told;	     /* the latest stamp reported; losses up to it are reported, too */
	/* Events that were out of reach when a tee was created, and events that it has read
	 * since, including those that the filter withheld. */
	struct ptrc_event_sums gone_before, taken;
	/* CLOCK_MONOTONIC, in ns, when a tee had last read all that there was. */
	uint64_t beat;
	uint64_t stop_told; /* 1 + number of the run whose automatic STOP was reported */

	/* For a tee, by type: events that it withheld because of the filter in force at their
	 * time. The keeper counts them when it consumes them, and the tee subtracts them from
	 * those counts. */
	struct posixtrace_type_count *withheld;
	uint32_t withheld_end; /* one past the last type that has any */

	/* Events to report before the next one of the heap. */
	struct ptrc_live_event queue[3];
	unsigned queue_at, queue_count;
	uint8_t *buffer; /* data of the last event */
	uint32_t buffer_size;
};

/* A tee is added to the stream's list. */
int ptrc_live_reader_init(struct ptrc_live_reader *r, struct ptrc_stream *s, bool is_tee);
/* Frees what the reader owns. Unless the stream ends, a tee is removed from the list first. */
void ptrc_live_reader_destroy(struct ptrc_live_reader *r);
void ptrc_live_reader_unlist(struct ptrc_live_reader *r);

/* Starts a new tee at what the stream holds now. Earlier losses and flushes are reported only if
 * is_past_told. If the limit is not 0, the tee ends with events recorded up to that stamp. */
void ptrc_live_reader_begin_tee(struct ptrc_live_reader *r, bool is_past_told, uint64_t limit);

/* From now on a tee reports only gaps and events of the types in the set. It skips other user
 * events without copying or merging them. */
void ptrc_live_reader_select(struct ptrc_live_reader *r, const trace_event_set_t *types);

/* Returns the next event; ENODATA if there is none, ENOMEM. ENODATA means that all events
 * recorded when the call started have been reported. If an event call under way may still
 * precede all events in the stream, the reader waits for it for 100 ms at most, and then
 * continues without it. */
int ptrc_live_reader_next(struct ptrc_live_reader *r, struct ptrc_live_event *event);

/* Sets the counts of the first `count` types: events that were consumed and events in the
 * stream. False if the keeper consumed some meanwhile or the stream was cleared; then the caller
 * tries again. */
bool ptrc_live_reader_count(struct ptrc_live_reader *r, struct posixtrace_type_count *counts,
			    size_t count);

/* The number of events that a tee has missed for ever since its start or the last clear: events
 * lost in the stream, and user events flushed. False as above. */
bool ptrc_live_reader_missed(struct ptrc_live_reader *r, uint64_t *missed);

#endif
