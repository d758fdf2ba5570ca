/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/writer.h"

#include <string.h>

#include "lib/base/atomic.h"
#include "lib/stream/chunk.h"

void ptrc_writer_init(struct ptrc_writer *w, const struct ptrc_pool *pool, uint32_t slot_index)
{
	uint64_t data_max = pool->header->max_data_size;

	memset(w, 0, sizeof(*w));
	w->pool = *pool;
	w->slot_index = slot_index;
	w->slot = &ptrc_stream_slots(pool->header)[slot_index];
	w->data_max = data_max < 0xffff ? data_max : 0xffff;
}

void ptrc_writer_stand_at(struct ptrc_writer *w, uint32_t index, uint32_t gen, uint32_t pos)
{
	w->chunk = ptrc_pool_chunk(&w->pool, index);
	w->index = index;
	w->gen = gen;
	w->at = (uint8_t *)w->chunk + pos;
	w->limit = w->at;
	w->pos_bias = ((uint64_t)gen << 32) - (uintptr_t)w->chunk;
}

static void stand_nowhere(struct ptrc_writer *w)
{
	w->chunk = NULL;
	w->at = w->limit = NULL;
}

bool ptrc_writer_is_place(const struct ptrc_writer *w, uint32_t pos)
{
	return pos >= PTRC_CHUNK_FIRST && pos <= w->pool.chunk_size && pos % 8 == 0;
}

/* The offset after the last record of the writer's chunk. It is read from `pos`, because w->at
 * may be wrong after siglongjmp has left an event call. */
static uint32_t published_pos(const struct ptrc_writer *w)
{
	return (uint32_t)ptrc_load_relaxed(&w->chunk->pos);
}

static bool owns(const struct ptrc_writer *w, uint64_t word)
{
	return PTRC_CHUNK_STATE(word) == PTRC_CHUNK_OWNED && PTRC_CHUNK_GEN(word) == w->gen &&
	       PTRC_CHUNK_SLOT(word) == w->slot_index;
}

static bool is_cleared(const struct ptrc_writer *w)
{
	return w->epoch != ptrc_load_acquire(&w->header->epoch);
}

static void give_back(struct ptrc_writer *w, uint64_t state)
{
	struct ptrc_chunk_ctl *ctl;
	uint64_t word;
	uint32_t pos;

	if (!w->chunk)
		return;
	ctl = ptrc_pool_ctl(&w->pool, w->index);
	word = ptrc_load_relaxed(&ctl->word);
	pos = published_pos(w);
	if (owns(w, word)) {
		if (pos > PTRC_CHUNK_FIRST && !is_cleared(w))
			ptrc_chunk_seal(ctl, word, pos, (uint32_t)w->count, w->last, state);
		else if (!ptrc_chunk_free(ctl, word & ~PTRC_CHUNK_PINS))
			/* A consumer has pinned the chunk, and will free it afterwards. */
			ptrc_chunk_seal(ctl, word, pos, (uint32_t)w->count, w->last,
					PTRC_CHUNK_SEALED);
	}
	stand_nowhere(w);
}

void ptrc_writer_release(struct ptrc_writer *w)
{
	give_back(w, PTRC_CHUNK_PARTIAL);
}

void ptrc_writer_seal(struct ptrc_writer *w)
{
	give_back(w, PTRC_CHUNK_SEALED);
}

void ptrc_writer_look_again(struct ptrc_writer *w)
{
	uint64_t word;
	uint32_t pos;

	if (!w->chunk)
		return;
	word = ptrc_load_relaxed(&ptrc_pool_ctl(&w->pool, w->index)->word);
	pos = published_pos(w);
	if (!owns(w, word) || !ptrc_writer_is_place(w, pos))
		stand_nowhere(w);
	else if (is_cleared(w))
		give_back(w, PTRC_CHUNK_SEALED);
	else
		w->at = (uint8_t *)w->chunk + pos;
}
