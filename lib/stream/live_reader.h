/* SPDX-License-Identifier: MIT */
/*
 * Reading a live stream in the order of time, for the three getnext functions and for cursors. The
 * reader of a stream without a log consumes the events that it reports: it frees their memory. The
 * reader of a logged stream is a tee: it only looks at the events, because the keeper consumes
 * them. A cursor is a tee on any stream; a stream can have several cursors. The controller's
 * reader_lock makes sure that only one reader of a process works at a time.
 *
 * The reader works in batches. For a batch it fixes a moment, looks for event calls under way, and
 * merges the events in the chunks up to a limit: the moment or, if calls are under way, the time
 * before which none of them can add an event. A call never adds an event before the last event of
 * its writer, because a writer's stamps never go back. So all events up to the limit are complete
 * and in order. The reader waits only if there is no event up to the limit.
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

/* A reported event. `data` is valid until the next call of ptrc_live_reader_next(). */
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
	uint64_t lost; /* events lost in the stream, of user and of system types */
};

struct ptrc_live_reader {
	struct ptrc_stream *stream;
	struct ptrc_consumer consumer;
	bool is_tee;			   /* reads events without consuming them */
	struct ptrc_live_reader *next_tee; /* the next tee in the list of the stream's tees */
	/* Report only events recorded up to this stamp; 0: all events. */
	uint64_t limit;
	uint64_t epoch; /* the stream's epoch when the reader started, or last started over */
	struct ptrc_sequencer sequencer;
	struct ptrc_clock_cursor clock;
	/* If the caller sets is_selective, the tee reports only gaps and events of the types in
	 * `wanted`. It skips other user events without copying or merging them. */
	bool is_selective;
	uint64_t wanted[PTRC_SET_WORD_COUNT];

	/* All events up to this stamp are complete, and the reader has put them into the heap. When
	 * the heap is empty, the reader has reported or dropped all of them. */
	uint64_t until;
	struct ptrc_live_chunk **heap;	/* chunks with complete events not reported yet; the top
					 * one has the earliest */
	struct ptrc_live_chunk *chunks; /* the reader's position in each chunk */
	uint32_t heap_count, chunk_capacity;

	struct ptrc_gap gap; /* lost events, not reported to the caller yet */
	uint64_t told;	     /* the latest stamp reported; losses up to this stamp have been
			      * reported, too */
	/* For a tee. gone_before: events that it could not read because they were consumed or
	 * lost before it was created. taken: events that it has read since, including those that
	 * it did not report because of the filter. */
	struct ptrc_event_sums gone_before, taken;
	/* For a tee. read_until: it had read all events up to this stamp before its present batch.
	 * is_overtaken: the keeper has consumed later events, so that the tee may have missed some since
	 * ptrc_live_reader_may_lack() last counted them. missed: that count. */
	uint64_t read_until;
	bool is_overtaken;
	uint64_t missed;
	/* For a tee, the time when it had last read all events (CLOCK_MONOTONIC in ns). */
	uint64_t beat;
	/* The stamp of the last START or FILTER that it has read, or that was taken before it started. */
	uint64_t filter_read;
	uint64_t stop_told; /* 1 + number of the run whose automatic STOP was reported */

	/* For a tee, by event type: events that it has read but not reported, because of the
	 * filter in force at their time. The keeper counts these events when it consumes them,
	 * and the tee subtracts them from the keeper's counts. */
	struct posixtrace_type_count *withheld;
	uint32_t withheld_end; /* one more than the last type with a count that is not 0 */

	/* Events to report before the earliest event in `heap`, for instance OVERFLOW and
	 * RESUME. */
	struct ptrc_live_event queue[3];
	unsigned queue_at, queue_count;
	uint8_t *buffer; /* data of the last reported event */
	uint32_t buffer_size;
};

/* Initialises a reader. If it is a tee, adds it to the stream's list of tees. */
int ptrc_live_reader_init(struct ptrc_live_reader *r, struct ptrc_stream *s, bool is_tee);
/* Frees what the reader owns. The caller removes a tee from the list first
 * (ptrc_live_reader_unlist), unless the stream ends. */
void ptrc_live_reader_destroy(struct ptrc_live_reader *r);
void ptrc_live_reader_unlist(struct ptrc_live_reader *r);

/* Whether a tee may have missed events, other than system events, since the preceding call: before, among or directly
 * after those that it has reported since. Counts the missed events only if the keeper has overtaken the tee. */
bool ptrc_live_reader_may_lack(struct ptrc_live_reader *r);

/* Lets a new tee (a reader that consumes nothing) start with the events that the stream holds now.
 * The tee reports losses from before this call only if is_past_told. If `limit` is not 0, the tee
 * reports only events recorded up to that stamp. */
void ptrc_live_reader_begin_tee(struct ptrc_live_reader *r, bool is_past_told, uint64_t limit);

/* Stores the next event. ENODATA: all events that were recorded before this call started have been
 * reported. Other error: ENOMEM. If an event call under way could still record an event earlier
 * than all events in the stream, the reader waits for all such calls, 100 ms at most, and then
 * continues without them. */
int ptrc_live_reader_next(struct ptrc_live_reader *r, struct ptrc_live_event *event);

/* Sets the counts of the first `count` types: events that were consumed, and events that are in
 * the stream. False if the keeper has consumed events meanwhile or the stream was cleared; then
 * the caller must try again. */
bool ptrc_live_reader_count(struct ptrc_live_reader *r, struct posixtrace_type_count *counts,
			    size_t count);

/* Stores the number of events that a tee has missed since its start or the last clear: events lost
 * in the stream, and user events that were flushed before the tee read them. False if the keeper
 * has consumed events meanwhile or the stream was cleared; then the caller must try again. */
bool ptrc_live_reader_missed(struct ptrc_live_reader *r, uint64_t *missed);

#endif
