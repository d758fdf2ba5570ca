/* SPDX-License-Identifier: MIT */
/*
 * Reading a live stream in the order of time, for the three getnext functions and for cursors. The
 * reader of a plain stream consumes what it reports. The reader of a logged stream is a tee: it
 * only looks, because the keeper consumes the events. A cursor is a tee on any stream, of which
 * there may be several at a time; a lock keeps the readers of a process apart.
 *
 * The reader works in batches. It fixes a moment, looks for event calls that are under way, and
 * merges what the chunks hold up to the moment, or up to where one of these calls can still add an
 * event: all of that is complete and in order. A writer's stamps never run backwards, so the stamp
 * of its last event is such a limit. Only if there is nothing up to there, the reader waits.
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

/* An event as reported; `data` is valid until the next call. */
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
	uint64_t lost; /* in the stream, of either kind */
};

struct ptrc_live_reader {
	struct ptrc_stream *stream;
	struct ptrc_consumer consumer;
	bool is_tee;
	struct ptrc_live_reader *next_tee; /* in the list of the stream */
	/* Only what was recorded up to this stamp is read; 0: no limit. */
	uint64_t limit;
	uint64_t epoch; /* of the stream, to which all that follows belongs */
	struct ptrc_sequencer sequencer;
	struct ptrc_clock_cursor clock;
	/* A tee may be asked for events of some types only: then a bit for each of them. */
	bool is_selective;
	uint64_t wanted[PTRC_SET_WORD_COUNT];

	/* This batch takes the events up to this stamp, which are complete. When the heap is empty,
	 * all of them have been in it. */
	uint64_t until;
	struct ptrc_live_chunk **heap;	/* the chunk with the earliest event at the top */
	struct ptrc_live_chunk *chunks; /* for each chunk, the reader's place in it */
	uint32_t heap_count, chunk_capacity;

	struct ptrc_gap gap; /* events that were lost, of which the caller has not been told */
	uint64_t told;	     /* the latest stamp reported: losses up to it are told of */
	/* Events that were not to be had any more when a tee began, and events that it has taken
	 * since, whether it reported them or the filter held them. */
	struct ptrc_event_sums gone_before, taken;
	/* CLOCK_MONOTONIC of the last time when a tee had read all that there was, ns. */
	uint64_t beat;
	uint64_t stop_told; /* number of the run whose automatic STOP was reported, + 1 */

	/* Of a tee, by type: events that it withheld because of the filter in force at their
	 * time. The keeper counts them when it consumes them, and the tee subtracts them from
	 * those counts. */
	struct posixtrace_type_count *withheld;
	uint32_t withheld_end; /* behind the last type that has any */

	/* Events that are reported before the next one of the heap. */
	struct ptrc_live_event queue[3];
	unsigned queue_at, queue_count;
	uint8_t *buffer; /* data of the event taken last */
	uint32_t buffer_size;
};

/* A tee is in the stream's list from here on. */
int ptrc_live_reader_init(struct ptrc_live_reader *r, struct ptrc_stream *s, bool is_tee);
/* Free what the reader has. A tee of a stream that stays is taken out of the list first. */
void ptrc_live_reader_destroy(struct ptrc_live_reader *r);
void ptrc_live_reader_unlist(struct ptrc_live_reader *r);

/* Let a new tee begin with what the stream holds now: it does not tell of what was lost or flushed
 * before, or does if is_past_told is set. If the limit is not 0 the tee ends with what was recorded up to
 * that stamp. */
void ptrc_live_reader_begin_tee(struct ptrc_live_reader *r, bool is_past_told, uint64_t limit);

/* From now on a tee reports only events of the types in the set, and gaps. It walks over other user
 * events without a copy and without bringing them into the order of time. */
void ptrc_live_reader_select(struct ptrc_live_reader *r, const trace_event_set_t *types);

/* The next event: 0, ENODATA if there is none, ENOMEM. ENODATA means that no event had been
 * recorded, and not been reported, when the call began. If only events are there that an event call
 * under way may still precede, the reader waits for that call, for 100 ms at most, and then goes
 * on without it. */
int ptrc_live_reader_next(struct ptrc_live_reader *r, struct ptrc_live_event *event);

/* Fill in the counts of the first `count` types: events that were consumed and events in the
 * stream. False if the keeper consumed some meanwhile, or if the stream was cleared; then the
 * caller tries again. */
bool ptrc_live_reader_count(struct ptrc_live_reader *r, struct posixtrace_type_count *counts,
			    size_t count);

/* How many events a tee has not got since it began, or since the last clear, and cannot get any
 * more: events lost in the stream, and user events flushed. False as above. */
bool ptrc_live_reader_missed(struct ptrc_live_reader *r, uint64_t *missed);

#endif
