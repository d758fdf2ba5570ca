/* SPDX-License-Identifier: MIT */
/*
 * A chunk of a stream: a piece of the stream's memory, into which one writer at a time, its
 * owner, records. This file has functions for the chunk's word (owner, generation, pins and state
 * in one number), for the records in it, and for a chunk whose owner leaves it or has died.
 * space.h gives chunks to writers, consumer.h takes events out of them.
 */
#ifndef PTRC_LIB_STREAM_CHUNK_H
#define PTRC_LIB_STREAM_CHUNK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/stream/pool.h"

#define PTRC_CHUNK_STATE(word) ((word)&PTRC_CHUNK_STATE_MASK)
#define PTRC_CHUNK_GEN(word) ((uint32_t)((word) >> PTRC_CHUNK_GEN_SHIFT))
#define PTRC_CHUNK_SLOT(word) ((uint32_t)(((word)&PTRC_CHUNK_SLOT_MASK) >> PTRC_CHUNK_SLOT_SHIFT))
#define PTRC_CHUNK_CLAIM(word) \
	((uint32_t)(((word)&PTRC_CHUNK_CLAIM_MASK) >> PTRC_CHUNK_CLAIM_SHIFT))
#define PTRC_CHUNK_WORD(gen, slot, claim, state)                                               \
	((uint64_t)(gen) << PTRC_CHUNK_GEN_SHIFT | (uint64_t)(slot) << PTRC_CHUNK_SLOT_SHIFT | \
	 (uint64_t)(claim) << PTRC_CHUNK_CLAIM_SHIFT | (state))

/* The offset after the last complete record of a chunk whose word (owner, generation, pins and
 * state) was `word`; 0 if the chunk holds no record, or if the offset in shared memory is outside
 * the chunk. */
uint32_t ptrc_chunk_end(const struct ptrc_pool *pool, uint32_t index, uint64_t word);
/* The offset of the first record that was neither reported nor flushed, at most `end`. */
uint32_t ptrc_chunk_rpos(const struct ptrc_chunk_ctl *ctl, uint64_t word, uint32_t end);
/* Bytes of the records that were neither reported nor flushed; 0 if the stream was cleared since
 * the chunk was taken, so that the chunk's epoch is not `epoch`. */
uint32_t ptrc_chunk_unread(const struct ptrc_pool *pool, uint32_t index, uint64_t word,
			   uint64_t epoch);

/* Changes the state of a chunk from `from` to `to`. Returns false, and changes nothing, if the
 * chunk is in another state, or if its slot, generation or claim is no longer that in `word`. */
bool ptrc_chunk_change(struct ptrc_chunk_ctl *ctl, uint64_t word, uint64_t from, uint64_t to);
/* The owner leaves the chunk: its state changes from OWNED to `state`. The state stays the same if
 * the chunk's word differs from `word` in more than the pins: then another process has taken the
 * owner for dead and sealed the chunk. */
void ptrc_chunk_seal(struct ptrc_chunk_ctl *ctl, uint64_t word, uint32_t end, uint32_t count,
		     uint64_t tlast, uint64_t state);
/* Takes a chunk away from its dead owner; the chunk then ends after its last complete record. The
 * caller makes sure that no other process does this for a chunk of this slot at the same time. */
void ptrc_chunk_seal_dead(const struct ptrc_pool *pool, uint32_t index, uint64_t word);
/* Makes a chunk FREE. Returns false, and changes nothing, if its word is no longer `word`. */
bool ptrc_chunk_free(struct ptrc_chunk_ctl *ctl, uint64_t word);

/* Notes in the stream's header (horizon and first_lost) that the unconsumed events of a chunk are
 * lost, because a writer of a LOOP stream, the thief, overwrites the chunk. The thief does this
 * while the chunk's state is STEALING. A consumer that finds this state does it too, because the
 * thief may be slow or dead. Noting the loss twice has the same result as once. */
void ptrc_chunk_note_loss(const struct ptrc_pool *pool, uint32_t index, uint64_t word);
/* The number of unconsumed events in a chunk without an owner. */
uint32_t ptrc_chunk_unread_events(const struct ptrc_chunk_ctl *ctl, uint64_t word);

/* An iterator over the records of a chunk or of a copy of a chunk. */
struct ptrc_walk {
	const uint8_t *bytes; /* the chunk, including its header */
	uint32_t off, end;    /* offsets of the next record and of the end of the last record */
	uint64_t base;	      /* stamp to which the times in the records are relative */
	struct ptrc_context origin;
};

struct ptrc_walk_record {
	uint64_t stamp;
	uint64_t addr;
	uint32_t id_flags;
	uint32_t len;
	uint32_t off;  /* offset of the record in the chunk */
	uint32_t data; /* offset of the record's data in the chunk */
};

/* Starts a walk (an iteration over the records of a chunk) before the first record. The walk checks
 * everything that it reads; the caller has checked `end`. */
struct ptrc_walk ptrc_walk_begin(const struct ptrc_chunk *chunk, uint32_t end);
/* Steps to the next event, which may be HIDDEN (not for the user). Sets walk->origin from the
 * CONTEXT records before the event. Returns false at the end, and at damage; only at damage
 * walk->off < walk->end. */
static inline bool ptrc_walk_next(struct ptrc_walk *walk, struct ptrc_walk_record *record)
{
	while (walk->off < walk->end) {
		const volatile uint64_t *from = (const void *)(walk->bytes + walk->off);
		struct ptrc_record head;
		uint64_t words[2], size, stamp;
		uint32_t data;

		if (walk->end - walk->off < sizeof(head))
			return false;
		/* Load each word only once, because other processes may write to the chunk at any
		 * time: a second load might differ from the value that was checked. */
		words[0] = from[0];
		words[1] = from[1];
		memcpy(&head, words, sizeof(head));
		size = ptrc_record_size(&head);
		if (size > walk->end - walk->off)
			return false;
		data = walk->off + ptrc_record_head(&head);
		stamp = walk->base + head.delta;
		if (head.id_flags & PTRC_REC_FULLSTAMP)
			stamp = from[2];
		walk->off += (uint32_t)size;
		if (PTRC_UNLIKELY(ptrc_record_is_context(&head))) {
			if (ptrc_record_len(&head) != sizeof(walk->origin)) {
				walk->off -= (uint32_t)size;
				return false;
			}
			memcpy(&walk->origin, walk->bytes + data, sizeof(walk->origin));
			if (head.id_flags & PTRC_REC_FULLSTAMP)
				walk->base = stamp;
			continue;
		}
		record->stamp = stamp;
		record->addr = ptrc_record_addr(&head);
		record->id_flags = head.id_flags;
		record->len = ptrc_record_len(&head);
		record->off = walk->off - (uint32_t)size;
		record->data = data;
		return true;
	}
	return false;
}

#endif
