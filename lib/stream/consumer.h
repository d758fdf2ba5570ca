/* SPDX-License-Identifier: MIT */
/*
 * Taking events out of the chunks of a stream: what the live reader and the drain have in common.
 * Each fixes a moment, waits for the event calls under way (marks.h), walks over the records up
 * to the moment in every chunk, under a pin, and consumes them. Each leaves out records that are
 * no part of the trace, tells of a gap where a LOOP stream overwrote events, and skips damaged
 * memory.
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
	bool only_looks; /* a tee, which reads and consumes nothing */
};

/* A chunk under the consumer's pin: nobody overwrites it. */
struct ptrc_pinned {
	uint32_t chunk;
	uint32_t end;  /* offset behind the last record */
	uint64_t word; /* of the chunk, with the pin */
};

/* Pin a chunk of this epoch that holds records. False if there is nothing in it to consume. */
bool ptrc_consumer_pin(const struct ptrc_consumer *c, uint32_t chunk, uint64_t epoch,
		       struct ptrc_pinned *p);
/* Let go of the chunk. A full chunk in which everything is consumed becomes FREE. */
void ptrc_consumer_unpin(const struct ptrc_consumer *c, const struct ptrc_pinned *p);
/* The offset of the first record that is not consumed. */
uint32_t ptrc_consumer_rpos(const struct ptrc_consumer *c, const struct ptrc_pinned *p);
/* Note that the records up to offset `off` are consumed, with `events` more events than before.
 * Their room is free from then on. */
void ptrc_consumer_advance(const struct ptrc_consumer *c, const struct ptrc_pinned *p, uint32_t off,
			   uint32_t events);

/* Fix a moment, and return its stamp. Event calls that begin after this function take later
 * stamps. When the caller has also waited for the event calls under way, every event with an
 * earlier stamp is in the chunks. */
uint64_t ptrc_consumer_moment(const struct ptrc_consumer *c);

enum ptrc_step {
	PTRC_STEP_EVENT,
	PTRC_STEP_END,	 /* no more up to the moment */
	PTRC_STEP_DAMAGE /* what follows in the chunk cannot be trusted */
};

/* Step to the next event that is at or behind offset `rpos` and not later than `until`. At
 * PTRC_STEP_END the walk stands before the first event that is later. */
enum ptrc_step ptrc_consumer_step(const struct ptrc_consumer *c, struct ptrc_walk *walk,
				  uint32_t rpos, uint64_t until, struct ptrc_walk_record *record);

/* Make the owner of a damaged chunk leave it. True if the chunk is SEALED now and no writer is at
 * work in it; *end is where it ends. False if its owner was stopped in the middle of an event
 * call: the chunk stays as it is. */
bool ptrc_consumer_condemn(const struct ptrc_consumer *c, const struct ptrc_pinned *p,
			   uint32_t *end);

/* How many types the counts have memory for, whatever the shared memory says. */
uint32_t ptrc_type_counts_ready(const struct ptrc_type_counts *c);
/* Count consumed events that were recorded in this epoch. Only the consumer of a stream changes
 * these counts, so adding is no atomic step. If /dev/shm has no memory for the counts of the type,
 * the events count for type 0. */
void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch,
			  const struct ptrc_type_sum *sum);

/* Stamps of events that stand in chunks but are no part of the trace. */
struct ptrc_excluded {
	/* All up to this one: LOOP overwrote the event, or a later one; 0: none. */
	uint64_t gap_last;
	uint64_t cut; /* all from this one on: the run had stopped; or PTRC_TIME_NONE */
	uint64_t dead_from, dead_until; /* from, until: came after the stop of the run before */
};

/* What is excluded at this moment. The caller sets gap_last, if there is a gap. */
struct ptrc_excluded ptrc_excluded_now(const struct ptrc_stream_header *h);

static inline bool ptrc_is_excluded(const struct ptrc_excluded *x, uint64_t stamp)
{
	return stamp <= x->gap_last || stamp >= x->cut ||
	       (stamp >= x->dead_from && stamp < x->dead_until);
}

/* Events that a LOOP stream overwrote before they were consumed. */
struct ptrc_gap {
	uint64_t first; /* stamp of the first one; PTRC_TIME_NONE: there is no gap */
	uint64_t last;	/* stamp of the last one */
};

/* Add the loss that writers noted in the header to *gap. False if there is none that reaches
 * beyond `told`, the stamp up to which readers need not be told of losses any more. The function
 * takes the loss out of the header, but for a tee it stays there. If `kept` is not null, the
 * beginning of the loss is noted there first, so that the next keeper finds it if this one dies. */
bool ptrc_consumer_find_gap(const struct ptrc_consumer *c, uint64_t told, _Atomic uint64_t *kept,
			    struct ptrc_gap *gap);

#endif
