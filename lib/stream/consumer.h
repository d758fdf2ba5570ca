/* SPDX-License-Identifier: MIT */
/*
 * Taking events out of the chunks of a stream: the common part of live reader and drain. Each fixes
 * a moment, waits for the event calls under way (marks.h), walks over the records up to the moment
 * in every chunk, under a pin, and consumes them. Each leaves out records that are no part of the
 * trace, reports a gap where a LOOP stream overwrote events, and skips damaged memory.
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
	bool only_looks; /* a tee, which consumes nothing */
};

/* A chunk that the consumer has pinned, so that no writer overwrites it. */
struct ptrc_pinned {
	uint32_t chunk;
	uint32_t end;  /* offset of the end of the last record */
	uint64_t word; /* of the chunk, including the pin */
};

/* Pins a chunk of this epoch that holds records. False if it has nothing to consume. */
bool ptrc_consumer_pin(const struct ptrc_consumer *c, uint32_t chunk, uint64_t epoch,
		       struct ptrc_pinned *p);
/* Unpins the chunk. A full chunk becomes FREE if everything in it is consumed. */
void ptrc_consumer_unpin(const struct ptrc_consumer *c, const struct ptrc_pinned *p);
/* The offset of the first unconsumed record. */
uint32_t ptrc_consumer_rpos(const struct ptrc_consumer *c, const struct ptrc_pinned *p);
/* Marks the records up to offset `off` as consumed, `events` events more than before, which
 * frees their room. */
void ptrc_consumer_advance(const struct ptrc_consumer *c, const struct ptrc_pinned *p, uint32_t off,
			   uint32_t events);

/* Fixes a moment and returns its stamp. Event calls that start after this function get later
 * stamps. Once the caller has waited for the event calls under way, every event with an earlier
 * stamp is in the chunks. */
uint64_t ptrc_consumer_moment(const struct ptrc_consumer *c);

enum ptrc_step {
	PTRC_STEP_EVENT,
	PTRC_STEP_END,	 /* no more events up to the moment */
	PTRC_STEP_DAMAGE /* what follows in the chunk cannot be trusted */
};

/* Steps to the next event at offset `rpos` or later, and not later than `until`. After
 * PTRC_STEP_END the walk is before the first event that is later. */
enum ptrc_step ptrc_consumer_step(const struct ptrc_consumer *c, struct ptrc_walk *walk,
				  uint32_t rpos, uint64_t until, struct ptrc_walk_record *record);

/* Makes the owner of a damaged chunk leave it. True if the chunk is SEALED now and no writer
 * works in it; *end is its end. False if the owner was stopped in an event call: the chunk is
 * unchanged. */
bool ptrc_consumer_condemn(const struct ptrc_consumer *c, const struct ptrc_pinned *p,
			   uint32_t *end);

/* The number of types whose counts have memory, at most PTRC_TYPE_COUNT whatever the shared
 * memory says. */
uint32_t ptrc_type_counts_ready(const struct ptrc_type_counts *c);
/* Counts consumed events that were recorded in this epoch. Only the consumer of a stream changes
 * these counts, so adding is not atomic. If /dev/shm has no memory for the counts of the type,
 * the events count for type 0. */
void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch,
			  const struct ptrc_type_sum *sum);

/* Stamps of events that are in chunks but are no part of the trace. */
struct ptrc_excluded {
	/* Events up to this one: a LOOP stream overwrote them or later ones; 0: none. */
	uint64_t gap_last;
	uint64_t cut; /* events from this one on: the run had stopped; or PTRC_TIME_NONE */
	/* events in [from, until), recorded after the stop of the run before */
	uint64_t dead_from, dead_until;
};

/* The stamps excluded now. The caller sets gap_last if there is a gap. */
struct ptrc_excluded ptrc_excluded_now(const struct ptrc_stream_header *h);

static inline bool ptrc_is_excluded(const struct ptrc_excluded *x, uint64_t stamp)
{
	return stamp <= x->gap_last || stamp >= x->cut ||
	       (stamp >= x->dead_from && stamp < x->dead_until);
}

/* Events that a LOOP stream overwrote before they were consumed. */
struct ptrc_gap {
	uint64_t first; /* stamp of the first one; PTRC_TIME_NONE: no gap */
	uint64_t last;	/* stamp of the last one */
};

/* Adds the loss that writers recorded in the header to *gap. False if nothing was lost after
 * `told`, up to which losses have been reported. Removes the loss from the header, unless this
 * is a tee. If `kept` is not NULL, the start of the loss is saved there first, so that the next
 * keeper finds it if this one dies. */
bool ptrc_consumer_find_gap(const struct ptrc_consumer *c, uint64_t told, _Atomic uint64_t *kept,
			    struct ptrc_gap *gap);

#endif
