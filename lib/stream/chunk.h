/* SPDX-License-Identifier: MIT */
/*
 * One chunk: its word, the records in it, and what happens to it when its owner is done with it
 * or has died. space.h gives chunks to writers, consumer.h takes events out of them.
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

/* The offset behind the last complete record of a chunk whose word was `word`; 0 if the chunk
 * holds no record, or if its memory says an offset that cannot be. */
uint32_t ptrc_chunk_end(const struct ptrc_pool *pool, uint32_t index, uint64_t word);
/* The offset of the first record that is not consumed, at most `end`. */
uint32_t ptrc_chunk_rpos(const struct ptrc_chunk_ctl *ctl, uint64_t word, uint32_t end);
/* Bytes of records that are not consumed; 0 for a chunk of an earlier epoch. */
uint32_t ptrc_chunk_unread(const struct ptrc_pool *pool, uint32_t index, uint64_t word,
			   uint64_t epoch);

/* Change the state of a chunk from `from` to `to`, if the rest of its word, but for pins, still
 * is that of `word`. */
bool ptrc_chunk_change(struct ptrc_chunk_ctl *ctl, uint64_t word, uint64_t from, uint64_t to);
/* The owner is done with the chunk: OWNED becomes `state`. Nothing happens if more than the pins
 * of `word` has changed: then a reaper took the owner for dead, and sealed the chunk. */
void ptrc_chunk_seal(struct ptrc_chunk_ctl *ctl, uint64_t word, uint32_t end, uint32_t count,
		     uint64_t tlast, uint64_t state);
/* Seal the chunk of a dead owner behind its last complete record. The caller makes sure that no
 * other process does this for a chunk of the same slot at the same time. */
void ptrc_chunk_seal_dead(const struct ptrc_pool *pool, uint32_t index, uint64_t word);
/* Change the word of a chunk to FREE if it still is `word`. */
bool ptrc_chunk_free(struct ptrc_chunk_ctl *ctl, uint64_t word);

/* A writer of a LOOP stream, the thief, overwrites the chunk: note in the header which of its
 * events are lost by that (horizon and first_lost). The thief does this between STEALING and
 * OWNED. A consumer that meets STEALING does it too, because the thief may be slow or dead; doing
 * it twice has the same result. */
void ptrc_chunk_note_loss(const struct ptrc_pool *pool, uint32_t index, uint64_t word);

/* A walk over the records of a chunk, or of a copy of one: the place that it has reached. */
struct ptrc_walk {
	const uint8_t *bytes; /* the chunk, its header included */
	uint32_t off, end;    /* of the next record, and behind the last one */
	uint64_t base;	      /* from which the records' times count */
	struct ptrc_context origin;
};

struct ptrc_walk_record {
	uint64_t stamp;
	uint64_t addr;
	uint32_t id_flags;
	uint32_t len;
	uint32_t off;  /* offset of the record in the chunk */
	uint32_t data; /* offset of its data */
};

/* The place before the first record. The walk trusts nothing in the chunk but `end`. */
struct ptrc_walk ptrc_walk_begin(const struct ptrc_chunk *chunk, uint32_t end);
/* Step over the next record that is an event (HIDDEN ones included), and apply the CONTEXT
 * records before it. False at the end, and at damage; at damage walk->off < walk->end. */
static inline bool ptrc_walk_next(struct ptrc_walk *walk, struct ptrc_walk_record *record)
{
	while (walk->off < walk->end) {
		const volatile uint64_t *from = (const void *)(walk->bytes + walk->off);
		struct ptrc_record head;
		uint64_t words[2], size, stamp;
		uint32_t data;

		if (walk->end - walk->off < sizeof(head))
			return false;
		/* Loaded once: others may write to the chunk at any time. */
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
