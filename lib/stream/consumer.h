/* SPDX-License-Identifier: MIT */
/*
 * Taking events out of the chunks of a stream: the common part of the live reader and of the
 * drain, by which the keeper flushes. Both are consumers. A consumer fixes a moment, waits for
 * the event calls under way (marks.h), pins each chunk, walks over its records up to the moment,
 * and consumes them: it frees their memory. It leaves out records that are no part of the trace,
 * reports a gap where a LOOP stream overwrote events, and skips damaged memory.
 */
#ifndef PTRC_LIB_STREAM_CONSUMER_H
#define PTRC_LIB_STREAM_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/type_sums.h"
#include "lib/stream/chunk.h"
#include "lib/stream/stream.h"

struct ptrc_consumer {
	struct ptrc_stream *stream;
	uint64_t pin;	 /* PTRC_CHUNK_PIN_READER or PTRC_CHUNK_PIN_KEEPER */
	bool only_looks; /* true for a tee: a reader that only looks at events and consumes
			  * nothing */
};

/* A chunk that the consumer has pinned, so that no writer overwrites it. */
struct ptrc_pinned {
	uint32_t chunk;
	uint32_t end; /* offset of the end of the last record */
	uint64_t
		word; /* the chunk's state (ctl->word) when it was pinned, with the pin's bit set */
};

/* Pins a chunk. False if it has nothing to consume, or holds events from before the last clear (its
 * epoch is not `epoch`). */
bool ptrc_consumer_pin(const struct ptrc_consumer *c, uint32_t chunk, uint64_t epoch,
		       struct ptrc_pinned *p);
/* Unpins the chunk. A full chunk becomes FREE if everything in it is consumed. */
void ptrc_consumer_unpin(const struct ptrc_consumer *c, const struct ptrc_pinned *p);
/* The offset of the first unconsumed record of the pinned chunk. */
uint32_t ptrc_consumer_rpos(const struct ptrc_consumer *c, const struct ptrc_pinned *p);
/* Marks the records up to offset `off` as consumed, which frees their memory. `events` is the
 * number of events among the records that this call consumes. */
void ptrc_consumer_advance(const struct ptrc_consumer *c, const struct ptrc_pinned *p, uint32_t off,
			   uint32_t events);

/* Fixes a moment and returns its stamp. Event calls that start after this function get later
 * stamps. Once the caller has waited for the event calls under way, every event with an earlier
 * stamp is in the chunks. */
uint64_t ptrc_consumer_moment(const struct ptrc_consumer *c);

/* Makes the owner of a damaged chunk leave it. True: the chunk is SEALED now, no writer works in
 * it, and *end is the end of its records. False: the owner is stopped in an event call, and the
 * chunk is unchanged. */
bool ptrc_consumer_condemn(const struct ptrc_consumer *c, const struct ptrc_pinned *p,
			   uint32_t *end);

/* The number of event types whose counts have memory. If the number in shared memory is damaged,
 * this is still at most PTRC_TYPE_COUNT. */
uint32_t ptrc_type_counts_ready(const struct ptrc_type_counts *c);
/* Adds consumed events of one type to the counts; the stream had been cleared `epoch` times when
 * they were recorded. Only the consumer of a stream changes these counts, so adding is not atomic.
 * If /dev/shm has no memory for the counts of this type, the events are counted for type 0. */
void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch,
			  const struct ptrc_type_sum *sum);

/* Events that are in chunks but are no part of the trace, described by their stamps. */
struct ptrc_excluded {
	/* Events up to this stamp, the end of a gap, are excluded: a LOOP stream overwrote the
	 * event with this stamp, and older events that still exist are dropped too, so that the gap
	 * is one interval. 0: there is no gap. */
	uint64_t gap_last;
	uint64_t cut; /* events from this stamp on are excluded, because the stream had stopped;
		       * PTRC_TIME_NONE: none */
	/* events from dead_from on and before dead_until are excluded: they were recorded after
	 * the previous run had stopped and before this run started */
	uint64_t dead_from, dead_until;
};

/* Returns which events are excluded now, not counting a gap, for which the caller sets gap_last. */
struct ptrc_excluded ptrc_excluded_now(const struct ptrc_stream_header *h);

static inline bool ptrc_is_excluded(const struct ptrc_excluded *x, uint64_t stamp)
{
	return stamp <= x->gap_last || stamp >= x->cut ||
	       (stamp >= x->dead_from && stamp < x->dead_until);
}

/* A gap: events that a LOOP stream overwrote before they were consumed. */
struct ptrc_gap {
	uint64_t first; /* stamp of the first lost event; PTRC_TIME_NONE: there is no gap */
	uint64_t last;	/* stamp of the last lost event */
};

/* Adds to *gap the loss that writers have noted in the header, and removes it from the header
 * unless the consumer is a tee. False if no event after the stamp `told` was lost; losses up to
 * `told` have been reported before. If `kept` is not NULL, the start of the loss is saved there
 * before it is removed, so that the next keeper finds it if this keeper dies. */
bool ptrc_consumer_find_gap(const struct ptrc_consumer *c, uint64_t told, _Atomic uint64_t *kept,
			    struct ptrc_gap *gap);

#endif
