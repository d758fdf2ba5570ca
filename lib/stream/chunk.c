/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/chunk.h"

#include "lib/base/atomic.h"

/* ---- the records ---- */

struct ptrc_walk ptrc_walk_begin(const struct ptrc_chunk *chunk, uint32_t end)
{
	return (struct ptrc_walk){.bytes = (const uint8_t *)chunk,
				  .off = PTRC_CHUNK_FIRST,
				  .end = end,
				  .base = chunk->base,
				  .origin = chunk->origin};
}

uint32_t ptrc_chunk_end(const struct ptrc_pool *pool, uint32_t index, uint64_t word)
{
	uint64_t state = PTRC_CHUNK_STATE(word);
	uint32_t end;

	if (state == PTRC_CHUNK_FREE || state > PTRC_CHUNK_STEALING)
		return 0;
	if (state == PTRC_CHUNK_OWNED) {
		/* Pairs with the owner's release store: the records before pos are complete. */
		uint64_t pos = ptrc_load_acquire(&ptrc_pool_chunk(pool, index)->pos);

		if ((uint32_t)(pos >> 32) != PTRC_CHUNK_GEN(word))
			return 0; /* the chunk's owner has not initialised it yet */
		end = (uint32_t)pos;
	} else {
		end = ptrc_load_relaxed(&ptrc_pool_ctl(pool, index)->end);
	}
	return end > PTRC_CHUNK_FIRST && end <= pool->chunk_size ? end : 0;
}

uint32_t ptrc_chunk_rpos(const struct ptrc_chunk_ctl *ctl, uint64_t word, uint32_t end)
{
	uint64_t rpos = ptrc_load_acquire(&ctl->rpos);
	uint32_t off = (uint32_t)rpos;

	if ((uint32_t)(rpos >> 32) != PTRC_CHUNK_GEN(word) || off < PTRC_CHUNK_FIRST)
		return PTRC_CHUNK_FIRST;
	return off < end ? off : end;
}

uint32_t ptrc_chunk_unread(const struct ptrc_pool *pool, uint32_t index, uint64_t word,
			   uint64_t epoch)
{
	const struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(pool, index);
	uint32_t end = ptrc_chunk_end(pool, index, word);

	if (end == 0 || ptrc_load_relaxed(&ctl->epoch) != epoch)
		return 0;
	return end - ptrc_chunk_rpos(ctl, word, end);
}

/* ---- the owner leaves its chunk ---- */

bool ptrc_chunk_change(struct ptrc_chunk_ctl *ctl, uint64_t word, uint64_t from, uint64_t to)
{
	uint64_t seen = ptrc_load_relaxed(&ctl->word);

	do {
		if (((seen ^ word) & ~(PTRC_CHUNK_PINS | PTRC_CHUNK_STATE_MASK)) ||
		    PTRC_CHUNK_STATE(seen) != from)
			return false;
	} while (!ptrc_cas(&ctl->word, &seen, (seen & ~PTRC_CHUNK_STATE_MASK) | to));
	return true;
}

void ptrc_chunk_seal(struct ptrc_chunk_ctl *ctl, uint64_t word, uint32_t end, uint32_t count,
		     uint64_t tlast, uint64_t state)
{
	/* The stores precede the change of the word, because tlast, end and count must be valid in
	 * every chunk that is not OWNED. */
	ptrc_store_relaxed(&ctl->tlast, tlast);
	ptrc_store_relaxed(&ctl->end, end);
	ptrc_store_relaxed(&ctl->count, count);
	ptrc_chunk_change(ctl, word, PTRC_CHUNK_OWNED, state);
}

bool ptrc_chunk_free(struct ptrc_chunk_ctl *ctl, uint64_t word)
{
	return ptrc_cas(&ctl->word, &word,
			PTRC_CHUNK_WORD(PTRC_CHUNK_GEN(word), 0, 0, PTRC_CHUNK_FREE));
}

void ptrc_chunk_seal_dead(const struct ptrc_pool *pool, uint32_t index, uint64_t word)
{
	struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(pool, index);
	uint32_t end = ptrc_chunk_end(pool, index, word);
	struct ptrc_walk walk = ptrc_walk_begin(ptrc_pool_chunk(pool, index), end);
	struct ptrc_walk_record record;
	uint64_t tlast = 0;
	uint32_t count = 0;

	if (end == 0 || ptrc_load_relaxed(&ctl->epoch) != ptrc_load_acquire(&pool->header->epoch)) {
		ptrc_chunk_free(ctl, word & ~PTRC_CHUNK_PINS);
		return;
	}
	while (ptrc_walk_next(&walk, &record)) {
		tlast = record.stamp;
		count += !(record.id_flags & PTRC_REC_HIDDEN);
	}
	/* PARTIAL lets another writer continue after the last record. A damaged chunk becomes
	 * SEALED, because its end is unknown. A keeper's chunk becomes SEALED, because it does
	 * not count towards stream-min-size and so must not be used by others. */
	ptrc_chunk_seal(ctl, word, end, count, tlast,
			walk.off == end && PTRC_CHUNK_SLOT(word) != PTRC_SLOT_KEEPER
				? PTRC_CHUNK_PARTIAL
				: PTRC_CHUNK_SEALED);
}

/* ---- the events that are lost when a chunk is overwritten ---- */

uint32_t ptrc_chunk_unread_events(const struct ptrc_chunk_ctl *ctl, uint64_t word)
{
	uint32_t count = ptrc_load_relaxed(&ctl->count), consumed = 0;

	if ((uint32_t)(ptrc_load_acquire(&ctl->rpos) >> 32) == PTRC_CHUNK_GEN(word))
		consumed = ptrc_load_relaxed(&ctl->rcount);
	return count > consumed ? count - consumed : 0;
}

static void store_min(_Atomic uint64_t *word, uint64_t value)
{
	uint64_t seen = ptrc_load_relaxed(word);

	while (value < seen && !ptrc_cas(word, &seen, value))
		;
}

void ptrc_chunk_note_loss(const struct ptrc_pool *pool, uint32_t index, uint64_t word)
{
	struct ptrc_stream_header *h = pool->header;
	struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(pool, index);
	uint32_t end = ptrc_chunk_end(pool, index, word);
	uint32_t rpos = ptrc_chunk_rpos(ctl, word, end);
	struct ptrc_walk walk = ptrc_walk_begin(ptrc_pool_chunk(pool, index), end);
	struct ptrc_walk_record record;

	if (rpos >= end)
		return;
	do
		if (!ptrc_walk_next(&walk, &record))
			return;
	while (record.off < rpos);
	/* If another writer has taken the chunk, the stamp just read may be of a new record. */
	atomic_thread_fence(memory_order_acquire);
	if (PTRC_CHUNK_GEN(ptrc_load_acquire(&ctl->word)) != PTRC_CHUNK_GEN(word))
		return;
	/* horizon is raised before first_lost is stored, so that a reader that sees the first
	 * lost event also sees how far the loss extends. */
	ptrc_stream_raise(&h->horizon, ptrc_load_relaxed(&ctl->tlast));
	store_min(&h->first_lost, record.stamp);
}
