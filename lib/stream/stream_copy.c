/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/stream_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/atomic.h"
#include "lib/base/copy.h"
#include "lib/base/file.h"
#include "lib/stream/chunk.h"
#include "lib/stream/clock.h"
#include "lib/stream/consumer.h"

/* If a copy has less than half of the stream, this process has lost its processor while it
 * copied, and writers have overwritten the stream meanwhile. Then the copy is made again, at most
 * this often in all. */
#define TRIES_MAX 4

/* A chunk as it was at the moment of the copy. */
struct found {
	uint32_t index;
	uint32_t gen;
	uint32_t bytes;	 /* unconsumed bytes */
	uint32_t events; /* unconsumed events; 0 for a chunk with an owner, whose events are not
			  * counted */
	uint64_t tfirst;
	uint64_t tlast; /* PTRC_TIME_NONE for a chunk with an owner */
};

/* The state of one try to make the copy. */
struct
try {
	struct ptrc_consumer consumer; /* for pinning chunks of the original stream */
	struct ptrc_stream_copy *copy;
	uint64_t epoch;
	struct found *chunks;
	uint32_t count;
	uint32_t used;
	/* End (horizon) and start (first_lost) of the gap in the copy. */
	uint64_t horizon, first_lost;
	uint64_t bytes, copied_bytes;
};

/* Copies memory that other processes may write meanwhile. Each 64-bit word is loaded once and as
 * a whole. */
static void copy_words(void *to, const void *from, size_t bytes)
{
	const _Atomic uint64_t *source = from;
	uint64_t *target = to;

	for (size_t i = 0; i < bytes / sizeof(*target); i++)
		target[i] = ptrc_load_relaxed(&source[i]);
}

/* ---- the survey of the chunks ---- */

static void survey_chunk(struct try *t, uint32_t i)
{
	const struct ptrc_pool *pool = &t->consumer.stream->pool;
	const struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(pool, i);
	uint64_t word = ptrc_load_acquire(&ctl->word);
	struct found f = {.index = i,
			  .gen = PTRC_CHUNK_GEN(word),
			  .bytes = ptrc_chunk_unread(pool, i, word, t->epoch),
			  .tfirst = ptrc_load_relaxed(&ctl->tfirst),
			  .tlast = PTRC_TIME_NONE};

	if (PTRC_CHUNK_STATE(word) == PTRC_CHUNK_STEALING) {
		ptrc_chunk_note_loss(pool, i, word);
		return;
	}
	if (!f.bytes)
		return;
	if (PTRC_CHUNK_STATE(word) != PTRC_CHUNK_OWNED) {
		f.events = ptrc_chunk_unread_events(ctl, word);
		f.tlast = ptrc_load_relaxed(&ctl->tlast);
	}
	/* If a writer has overwritten the chunk meanwhile, it had first noted the loss in the
	 * header, and survey() reads the header after this. */
	atomic_thread_fence(memory_order_acquire);
	if (PTRC_CHUNK_GEN(ptrc_load_relaxed(&ctl->word)) != f.gen)
		return;
	t->bytes += f.bytes;
	t->chunks[t->count++] = f;
}

static int compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return PTRC_ORDER(y->tlast, x->tlast);
}

static void survey(struct try *t)
{
	struct ptrc_stream_header *h = t->consumer.stream->header;

	t->count = 0;
	t->bytes = t->copied_bytes = 0;
	t->copy->missed = 0;
	t->epoch = ptrc_load_acquire(&h->epoch);
	t->copy->moment = ptrc_consumer_moment(&t->consumer);
	for (uint32_t i = 0; i < t->used; i++)
		survey_chunk(t, i);
	/* The gap is read after the survey: a chunk is either in the survey or, if it was
	 * overwritten before, included in the gap. first_lost is read before horizon, because
	 * writers store first_lost last. */
	t->first_lost = ptrc_load_acquire(&h->first_lost);
	t->horizon = ptrc_load_acquire(&h->horizon);
	qsort(t->chunks, t->count, sizeof(t->chunks[0]), compare);
}

/* ---- copying ---- */

/* Copies a chunk. Returns false if it was overwritten, flushed or cleared after survey() saw it. */
static bool copy_chunk(struct try *t, const struct found *f)
{
	const struct ptrc_pool *pool = &t->consumer.stream->pool;
	const struct ptrc_chunk_ctl *from = ptrc_pool_ctl(pool, f->index);
	struct ptrc_chunk_ctl *to = ptrc_pool_ctl(&t->copy->stream.pool, f->index);
	struct ptrc_pinned p;

	if (!ptrc_consumer_pin(&t->consumer, f->index, t->epoch, &p))
		return false;
	if (PTRC_CHUNK_GEN(p.word) == f->gen) {
		copy_words(to, from, sizeof(*to));
		ptrc_copy(ptrc_pool_chunk(&t->copy->stream.pool, f->index),
			  ptrc_pool_chunk(pool, f->index), p.end);
		/* Relaxed stores are enough, because no other process sees the copy. */
		ptrc_store_relaxed(&to->end, p.end);
		ptrc_store_relaxed(&to->word,
				   (p.word & ~(PTRC_CHUNK_PINS | PTRC_CHUNK_STATE_MASK)) |
					   PTRC_CHUNK_SEALED);
		t->copied_bytes += f->bytes;
	}
	ptrc_consumer_unpin(&t->consumer, &p);
	return PTRC_CHUNK_GEN(p.word) == f->gen;
}

static void note_missed(struct try *t, const struct found *f)
{
	uint64_t horizon = ptrc_load_acquire(&t->consumer.stream->header->horizon);
	bool has_owner = f->tlast == PTRC_TIME_NONE;

	t->copy->missed += f->events;
	/* The horizon is raised before a chunk is overwritten. If the chunk is later than the
	 * horizon, it was flushed or cleared instead, and leaves no gap. */
	if ((has_owner ? f->tfirst : f->tlast) > horizon)
		return;
	if (!has_owner)
		horizon = f->tlast;
	if (horizon > t->horizon)
		t->horizon = horizon;
	if (f->tfirst < t->first_lost)
		t->first_lost = f->tfirst;
}

static void copy_header(struct try *t)
{
	struct ptrc_stream_header *from = t->consumer.stream->header;
	struct ptrc_stream_header *h = t->copy->stream.header;
	/* The count is read first: the entries were stored before the count that includes them. */
	uint64_t entries = ptrc_load_acquire(&from->clock_word) >> 32;

	copy_words(h, from, sizeof(*h));
	copy_words(ptrc_stream_clock(h), ptrc_stream_clock(from),
		   sizeof(struct ptrc_clock_entry) *
			   (entries < PTRC_CLOCK_ENTRY_COUNT ? entries : PTRC_CLOCK_ENTRY_COUNT));
	ptrc_store_relaxed(&h->clock_word, entries << 32);
	ptrc_store_relaxed(&h->epoch, t->epoch);
	ptrc_store_relaxed(&h->horizon, t->horizon);
	ptrc_store_relaxed(&h->first_lost, t->first_lost);
	ptrc_store_relaxed(&h->chunks_used, t->used);
	ptrc_store_relaxed(&h->slots_used, 0);
}

static void copy_stream(struct try *t)
{
	memset(ptrc_stream_ctl(t->copy->stream.header), 0, t->used * sizeof(struct ptrc_chunk_ctl));
	survey(t);
	for (uint32_t i = 0; i < t->count; i++)
		if (!copy_chunk(t, &t->chunks[i]))
			note_missed(t, &t->chunks[i]);
	copy_header(t);
}

/* Reserves memory for all chunks that are in use now. This is done before the moment of the copy,
 * because it takes as long as copying. */
static bool reserve(struct try *t)
{
	const struct ptrc_pool *pool = &t->consumer.stream->pool;

	t->used = ptrc_pool_used(pool);
	free(t->chunks);
	t->chunks = malloc((t->used + 1) * sizeof(t->chunks[0]));
	return t->chunks && ptrc_file_populate(ptrc_pool_chunk(&t->copy->stream.pool, 0),
					       (uint64_t)t->used * pool->chunk_size);
}

int ptrc_stream_copy_make(struct ptrc_stream_copy *copy, struct ptrc_stream *from)
{
	const struct ptrc_pool *pool = &from->pool;
	struct try t = {
		.consumer = {.stream = from, .pin = PTRC_CHUNK_PIN_READER, .only_looks = true},
		.copy = copy,
	};
	void *map;

	if (ptrc_file_map_sparse(-1, from->map_size, NULL, &map))
		return ENOMEM;
	copy->stream = (struct ptrc_stream){.pool = {.header = map,
						     .chunk_size = pool->chunk_size,
						     .chunk_count = pool->chunk_count},
					    .map_size = from->map_size,
					    .role = from->role};
	for (int i = 0; i < TRIES_MAX; i++) {
		if (t.used != ptrc_pool_used(pool) && !reserve(&t)) {
			free(t.chunks);
			ptrc_stream_copy_free(copy);
			return ENOMEM;
		}
		copy_stream(&t);
		/* A chunk that has come into use since may have events from before the moment. */
		if (t.copied_bytes >= t.bytes / 2 && t.used == ptrc_pool_used(pool))
			break;
	}
	free(t.chunks);
	return 0;
}

void ptrc_stream_copy_free(struct ptrc_stream_copy *copy)
{
	if (copy->stream.header)
		munmap(copy->stream.header, copy->stream.map_size);
	copy->stream.header = NULL;
}
