/* SPDX-License-Identifier: MIT */
/*
 * Taking events out of the chunks of a stream: what the live reader and the drain have in
 * common. Each fixes a moment, waits for the event calls under way (marks.h), walks over
 * the records up to the moment in every chunk, under a pin, and consumes them. Each
 * passes over what is no part of the trace, tells of a gap where a LOOP stream overwrote
 * events, and skips damaged memory.
 */
#ifndef PTRC_LIB_STREAM_CONSUMER_H
#define PTRC_LIB_STREAM_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

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

/* Pin a chunk of this epoch that holds records. False if there is nothing in it to
 * consume. */
bool ptrc_consumer_pin(const struct ptrc_consumer *c, uint32_t chunk, uint64_t epoch,
		       struct ptrc_pinned *p);
/* Let go of the chunk. If it is full and everything in it is consumed, it is FREE. */
void ptrc_consumer_unpin(const struct ptrc_consumer *c, const struct ptrc_pinned *p);
/* The offset of the first record that is not consumed. */
uint32_t ptrc_consumer_rpos(const struct ptrc_consumer *c, const struct ptrc_pinned *p);
/* The records up to offset `off` are consumed, which are so many events more than before:
 * their room is free. */
void ptrc_consumer_advance(const struct ptrc_consumer *c, const struct ptrc_pinned *p, uint32_t off,
			   uint32_t events);

/* Fix a moment: after this call, event calls that begin take later stamps. The caller
 * then waits for those under way, and has all that is stamped up to the moment. */
uint64_t ptrc_consumer_moment(const struct ptrc_consumer *c);

enum ptrc_step {
	PTRC_STEP_EVENT,
	PTRC_STEP_END,	 /* no more up to the moment */
	PTRC_STEP_DAMAGE /* what follows in the chunk cannot be trusted */
};

/* Step to the next event that is at or behind offset `rpos` and not later than `until`.
 * At PTRC_STEP_END the walk stands before the first event that is later. */
enum ptrc_step ptrc_consumer_step(const struct ptrc_consumer *c, struct ptrc_walk *walk,
				  uint32_t rpos, uint64_t until, struct ptrc_walk_record *record);

/* The chunk's records cannot be trusted, and its owner must not go on in it. True if the
 * chunk is SEALED now and nobody is at work in it; *end is where it ends. False if its
 * owner was stopped in the middle of an event call: the chunk stays as it is. */
bool ptrc_consumer_condemn(const struct ptrc_consumer *c, const struct ptrc_pinned *p,
			   uint32_t *end);

/* Events of one type, to be added to the counts in the stream. */
struct ptrc_type_sum {
	uint32_t id; /* below PTRC_TYPE_COUNT */
	uint32_t events;
	uint32_t bytes; /* of data */
	uint32_t truncated;
};

/* Count consumed events that were recorded in this epoch. Only the consumer of a stream changes
 * these counts, so adding is no atomic step. */
void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch,
			  const struct ptrc_type_sum *sum);

/* Events in chunks that are no part of the trace. */
struct ptrc_excluded {
	/* All up to here: they were overwritten, or are older; 0: none. */
	uint64_t gap_last;
	uint64_t cut; /* all from here on: the run had stopped; or PTRC_TIME_NONE */
	uint64_t dead_from, dead_until; /* these came too late for the stop before the run */
};

/* What is excluded now, but for a gap. */
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

/* Learn of a loss that writers noted. True if it reaches beyond `told`, the stamp up to
 * which nothing is to be told of any more; then *gap begins with the earlier of its own
 * beginning and the loss's. The loss is taken out of the header, but not by a tee. If
 * `kept` is not null, the beginning is noted there before that, so that another keeper
 * finds it if this one dies. */
bool ptrc_consumer_find_gap(const struct ptrc_consumer *c, uint64_t told, _Atomic uint64_t *kept,
			    struct ptrc_gap *gap);

#endif
