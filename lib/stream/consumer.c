/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/consumer.h"

#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/stream/marks.h"
#include "lib/stream/clock.h"
#include "lib/stream/status.h"

/* How long to wait until the writer that owns a damaged chunk leaves posix_trace_event(). */
#define CONDEMN_WAIT_NS INT64_C(100000000)

/* ---- pins ---- */

bool ptrc_consumer_pin(const struct ptrc_consumer *c, uint32_t chunk, uint64_t epoch,
		       struct ptrc_pinned *p)
{
	const struct ptrc_pool *pool = &c->stream->pool;
	struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(pool, chunk);
	uint64_t word = ptrc_load_acquire(&ctl->word);

	p->chunk = chunk;
	do {
		uint64_t state = PTRC_CHUNK_STATE(word);

		if (state == PTRC_CHUNK_STEALING)
			ptrc_chunk_note_loss(pool, chunk, word);
		if ((state != PTRC_CHUNK_OWNED && state != PTRC_CHUNK_SEALED &&
		     state != PTRC_CHUNK_PARTIAL) ||
		    ptrc_load_relaxed(&ctl->epoch) != epoch)
			return false;
		p->end = ptrc_chunk_end(pool, chunk, word);
		/* A full chunk is pinned even if everything in it is consumed, because unpinning
		 * frees it. Such a chunk remains if another consumer had pinned it when its last
		 * event was consumed, or if the consumer died before it could free the chunk. */
		if (p->end == 0 ||
		    (state == PTRC_CHUNK_OWNED && ptrc_chunk_rpos(ctl, word, p->end) >= p->end))
			return false;
		p->word = word | c->pin;
	} while (!ptrc_cas(&ctl->word, &word, p->word));
	return true;
}

void ptrc_consumer_unpin(const struct ptrc_consumer *c, const struct ptrc_pinned *p)
{
	struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(&c->stream->pool, p->chunk);
	uint64_t word =
		atomic_fetch_and_explicit(&ctl->word, ~c->pin, memory_order_acq_rel) & ~c->pin;
	uint32_t end;

	if (c->only_looks || PTRC_CHUNK_STATE(word) != PTRC_CHUNK_SEALED ||
	    (word & PTRC_CHUNK_PINS))
		return;
	end = ptrc_load_relaxed(&ctl->end);
	if (ptrc_chunk_rpos(ctl, word, end) >= end)
		ptrc_chunk_free(ctl, word);
}

uint32_t ptrc_consumer_rpos(const struct ptrc_consumer *c, const struct ptrc_pinned *p)
{
	return ptrc_chunk_rpos(ptrc_pool_ctl(&c->stream->pool, p->chunk), p->word, p->end);
}

void ptrc_consumer_advance(const struct ptrc_consumer *c, const struct ptrc_pinned *p, uint32_t off,
			   uint32_t events)
{
	struct ptrc_stream_header *h = c->stream->header;
	struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(&c->stream->pool, p->chunk);
	uint64_t old = ptrc_load_relaxed(&ctl->rpos);
	uint32_t before = 0;

	if (c->only_looks)
		return;
	if ((uint32_t)(old >> 32) == PTRC_CHUNK_GEN(p->word))
		before = ptrc_load_relaxed(&ctl->rcount);
	ptrc_store_relaxed(&ctl->rcount, before + events);
	ptrc_store_release(&ctl->rpos, (uint64_t)PTRC_CHUNK_GEN(p->word) << 32 | off);
	if (h->policy == POSIX_TRACE_LOOP && (ptrc_load_relaxed(&h->status) & PTRC_ST_FULL))
		ptrc_status_clear(h, PTRC_ST_FULL);
}

/* ---- the moment ---- */

uint64_t ptrc_consumer_moment(const struct ptrc_consumer *c)
{
	struct ptrc_stream_header *h = c->stream->header;
	uint64_t now = ptrc_stream_now(h);

	ptrc_clock_update(h, now);
	ptrc_barrier(h);
	return now;
}

/* ---- damage ---- */

bool ptrc_consumer_condemn(const struct ptrc_consumer *c, const struct ptrc_pinned *p,
			   uint32_t *end)
{
	const struct ptrc_pool *pool = &c->stream->pool;
	struct ptrc_stream_header *h = pool->header;
	struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(&c->stream->pool, p->chunk);
	uint32_t slot = PTRC_CHUNK_SLOT(p->word);
	int64_t wait_ns = CONDEMN_WAIT_NS;

	/* If the chunk has no owner, SEALED keeps writers from adopting it. */
	ptrc_chunk_change(ctl, p->word, PTRC_CHUNK_PARTIAL, PTRC_CHUNK_SEALED);
	if (ptrc_chunk_change(ctl, p->word, PTRC_CHUNK_OWNED, PTRC_CHUNK_SEALED)) {
		/* With the new control word, the owner's next event takes the cold way, which looks
		 * at the chunk's word and so notices that the chunk was taken away. */
		ptrc_control_change(h, 0, 0);
		ptrc_barrier(h);
		if (ptrc_marks_wait(h, &c->stream->given_up, slot, &wait_ns) == slot) {
			ptrc_chunk_change(ctl, p->word, PTRC_CHUNK_SEALED, PTRC_CHUNK_OWNED);
			return false;
		}
		*end = (uint32_t)ptrc_load_acquire(&ptrc_pool_chunk(pool, p->chunk)->pos);
		if (*end < PTRC_CHUNK_FIRST || *end > pool->chunk_size)
			*end = pool->chunk_size;
		ptrc_store_relaxed(&ctl->end, *end);
		return true;
	}
	if (PTRC_CHUNK_STATE(ptrc_load_acquire(&ctl->word)) != PTRC_CHUNK_SEALED)
		return false;
	*end = ptrc_load_relaxed(&ctl->end);
	if (*end > pool->chunk_size)
		*end = pool->chunk_size;
	return true;
}

/* ---- counts by type ---- */

static void add(_Atomic uint64_t *word, uint64_t n)
{
	ptrc_store_relaxed(word, ptrc_load_relaxed(word) + n);
}

uint32_t ptrc_type_counts_ready(const struct ptrc_type_counts *c)
{
	uint64_t ready = ptrc_load_acquire(&c->ready);

	return ready < PTRC_TYPE_COUNT ? (uint32_t)ready : PTRC_TYPE_COUNT;
}

/* Reserves memory for the counts of the type. False: there is no memory. */
static bool make_ready(struct ptrc_type_counts *c, uint32_t id)
{
	uint32_t ready = ptrc_type_counts_ready(c);
	uint64_t end;

	if (id < ready)
		return true;
	if (!ptrc_file_populate(&c->type[ready], (id + 1 - ready) * sizeof(c->type[0])))
		return false;
	/* Memory comes in whole pages, so the counts up to the end of the page have it now. */
	end = (offsetof(struct ptrc_type_counts, type[id + 1]) + 4095) & ~UINT64_C(4095);
	ptrc_store_release(&c->ready,
			   (end - offsetof(struct ptrc_type_counts, type[0])) / sizeof(c->type[0]));
	return true;
}

void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch,
			  const struct ptrc_type_sum *sum)
{
	uint64_t known = ptrc_load_relaxed(&c->epoch);
	struct ptrc_type_count *type;

	/* If `epoch` is older than that of the counts, the stream was cleared after these events
	 * were recorded, so they are not counted. */
	if (epoch < known || sum->id >= PTRC_TYPE_COUNT)
		return;
	if (epoch > known) {
		for (uint32_t i = 0, ready = ptrc_type_counts_ready(c); i < ready; i++) {
			ptrc_store_relaxed(&c->type[i].events, 0);
			ptrc_store_relaxed(&c->type[i].bytes, 0);
			ptrc_store_relaxed(&c->type[i].truncated, 0);
		}
		ptrc_store_release(&c->epoch, epoch);
	}
	type = &c->type[make_ready(c, sum->id) ? sum->id : 0];
	add(&type->events, sum->events);
	add(&type->bytes, sum->bytes);
	add(&type->truncated, sum->truncated);
}

/* ---- events that are missing from the trace ---- */

struct ptrc_excluded ptrc_excluded_now(const struct ptrc_stream_header *h)
{
	struct ptrc_excluded x = {.cut = PTRC_TIME_NONE};

	ptrc_stream_cut(h, &x.cut);
	x.dead_until = ptrc_load_acquire(&h->dead_until);
	x.dead_from = ptrc_load_relaxed(&h->dead_from);
	return x;
}

bool ptrc_consumer_find_gap(const struct ptrc_consumer *c, uint64_t told, _Atomic uint64_t *kept,
			    struct ptrc_gap *gap)
{
	struct ptrc_stream_header *h = c->stream->header;
	uint64_t lost = ptrc_load_acquire(&h->first_lost);
	uint64_t first = PTRC_TIME_NONE, last;

	if (kept)
		first = ptrc_load_relaxed(kept);
	while (lost != PTRC_TIME_NONE) {
		if (lost < first) {
			first = lost;
			if (kept)
				ptrc_store_release(kept, first);
		}
		if (c->only_looks || ptrc_cas(&h->first_lost, &lost, PTRC_TIME_NONE))
			break;
	}
	if (first == PTRC_TIME_NONE)
		return false;
	/* first_lost is read before the horizon, and writers store the horizon before first_lost.
	 * So a consumer that sees the start of a loss also sees its end. If it has already reported
	 * the start (first <= told), only the rest of the loss is new. */
	last = ptrc_load_acquire(&h->horizon);
	if (last <= told) {
		if (kept)
			ptrc_store_release(kept, PTRC_TIME_NONE);
		return false;
	}
	if (first <= told)
		first = told + 1;
	if (first < gap->first)
		gap->first = first;
	gap->last = last;
	return true;
}
