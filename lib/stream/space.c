/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/space.h"

#include <string.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/stream/chunk.h"
#include "lib/stream/clock.h"
#include "lib/stream/slots.h"
#include "lib/stream/status.h"

/* A search for room is repeated if another writer has taken the chosen chunk first. After this many
 * repetitions the memory must be damaged. */
#define ROOM_TRIES 1000

/* ---- the survey of the chunks ---- */

/* A chunk and its word at the time of the survey. */
struct found {
	uint32_t index; /* UINT32_MAX: none */
	uint64_t word;
};

static bool is_found(const struct found *f)
{
	return f->index != UINT32_MAX;
}

struct survey {
	/* bytes neither reported nor flushed, without the keeper's chunks; in a LOOP stream, also
	 * without chunks that have an owner */
	uint64_t unread;
	uint64_t sealed_unread; /* such bytes in chunks without an owner, also in the keeper's */
	bool has_pinned;	/* a consumer has pinned a chunk without an owner */
	struct found free;	/* a chunk that holds nothing */
	struct found partial;	/* a chunk without an owner that has enough room */
	struct found stuck;	/* a chunk that another writer is overwriting, or was overwriting
				 * when it died */
	struct found victim;	/* the chunk with the oldest last event, which a LOOP stream
				 * overwrites first */
	uint64_t victim_tlast;
	uint64_t victim_unread;
};

/* Remembers a free chunk; prefers one that was in use before, because it has memory already. */
static void note_free(struct survey *v, uint32_t index, uint64_t word)
{
	if (!is_found(&v->free) || (PTRC_CHUNK_GEN(v->free.word) == 0 && PTRC_CHUNK_GEN(word) != 0))
		v->free = (struct found){.index = index, .word = word};
}

static void survey_chunks(struct ptrc_writer *w, uint32_t need, struct survey *v)
{
	const struct found none = {.index = UINT32_MAX};
	uint64_t epoch = ptrc_load_acquire(&w->header->epoch);
	bool is_loop = w->header->policy == POSIX_TRACE_LOOP;

	*v = (struct survey){.free = none, .partial = none, .stuck = none, .victim = none};
	for (uint32_t i = 0, used = ptrc_pool_used(&w->pool); i < used; i++) {
		struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(&w->pool, i);
		uint64_t word = ptrc_load_acquire(&ctl->word);
		struct found this = {.index = i, .word = word};
		uint64_t state = PTRC_CHUNK_STATE(word), tlast;
		uint32_t unread;

		if (state == PTRC_CHUNK_FREE) {
			note_free(v, i, word);
			continue;
		}
		/* In a LOOP stream, chunks with an owner do not matter here, and looking at them
		 * takes long if there are many threads. */
		if (state == PTRC_CHUNK_OWNED && is_loop)
			continue;
		unread = ptrc_chunk_unread(&w->pool, i, word, epoch);
		if (PTRC_CHUNK_SLOT(word) != PTRC_SLOT_KEEPER)
			v->unread += unread;
		if (state == PTRC_CHUNK_OWNED)
			continue;
		if (state == PTRC_CHUNK_STEALING) {
			v->stuck = this;
			continue;
		}
		v->sealed_unread += unread;
		if (word & PTRC_CHUNK_PINS) {
			v->has_pinned = true;
			continue;
		}
		if (unread == 0) {
			note_free(v, i, word);
			continue;
		}
		if (state == PTRC_CHUNK_PARTIAL &&
		    w->pool.chunk_size - ptrc_chunk_end(&w->pool, i, word) >= need &&
		    PTRC_CHUNK_SLOT(word) != PTRC_SLOT_KEEPER &&
		    (word & PTRC_CHUNK_CLAIM_MASK) != PTRC_CHUNK_CLAIM_MASK)
			v->partial = this;
		tlast = ptrc_load_relaxed(&ctl->tlast);
		if (!is_found(&v->victim) || tlast < v->victim_tlast) {
			v->victim = this;
			v->victim_tlast = tlast;
			v->victim_unread = unread;
		}
	}
}

/* Whether a LOOP stream may overwrite the chunk whose last event has the stamp `tlast`: readers
 * then drop all events up to this stamp, and at least `min` bytes of later events must be left.
 * Chunks with an owner are left out, because a thread that seldom records may keep its chunk for
 * long. */
static bool leaves_enough(const struct ptrc_pool *pool, uint64_t tlast, uint64_t min)
{
	uint64_t epoch = ptrc_load_acquire(&pool->header->epoch), sum = 0;

	for (uint32_t i = 0, used = ptrc_pool_used(pool); i < used && sum < min; i++) {
		struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(pool, i);
		uint64_t word = ptrc_load_acquire(&ctl->word);

		if ((PTRC_CHUNK_STATE(word) == PTRC_CHUNK_SEALED ||
		     PTRC_CHUNK_STATE(word) == PTRC_CHUNK_PARTIAL) &&
		    ptrc_load_relaxed(&ctl->tfirst) > tlast)
			sum += ptrc_chunk_unread(pool, i, word, epoch);
	}
	return sum >= min;
}

uint64_t ptrc_space_used(const struct ptrc_pool *pool)
{
	uint64_t epoch = ptrc_load_acquire(&pool->header->epoch), sum = 0;

	for (uint32_t i = 0, used = ptrc_pool_used(pool); i < used; i++) {
		uint64_t word = ptrc_load_acquire(&ptrc_pool_ctl(pool, i)->word);

		if (PTRC_CHUNK_SLOT(word) != PTRC_SLOT_KEEPER)
			sum += ptrc_chunk_unread(pool, i, word, epoch);
	}
	return sum;
}

/* If there is memory for more chunks, ptrc_space_make() overwrites a chunk only if no chunk in use
 * has room for another record, and if stream-min-size bytes of events remain. This function checks
 * both. */
bool ptrc_space_would_overwrite(const struct ptrc_pool *pool)
{
	uint64_t epoch = ptrc_load_acquire(&pool->header->epoch), sum = 0;
	uint64_t oldest = UINT64_MAX, victim_unread = 0;

	for (uint32_t i = 0, used = ptrc_pool_used(pool); i < used; i++) {
		struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(pool, i);
		uint64_t word = ptrc_load_acquire(&ctl->word);
		uint32_t end = ptrc_chunk_end(pool, i, word), unread;
		uint64_t tfirst;

		if (end == 0 || ptrc_load_relaxed(&ctl->epoch) != epoch)
			continue;
		if (PTRC_CHUNK_STATE(word) != PTRC_CHUNK_SEALED &&
		    pool->chunk_size - end >= sizeof(struct ptrc_record))
			return false;
		tfirst = ptrc_load_relaxed(&ctl->tfirst);
		unread = end - ptrc_chunk_rpos(ctl, word, end);
		sum += unread;
		if (unread && tfirst < oldest) {
			oldest = tfirst;
			victim_unread = unread;
		}
	}
	return victim_unread && sum - victim_unread >= pool->header->stream_min_size;
}

/* ---- taking a chunk ---- */

/* Empties the chunk, whose word already has the slot of this writer. pos is stored last. Until the
 * generation in pos is that of the word, other processes regard the chunk as empty, and a reaper
 * frees it if this writer dies. */
static void begin_chunk(struct ptrc_writer *w, uint32_t index, uint32_t gen)
{
	struct ptrc_stream_header *h = w->header;
	struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(&w->pool, index);

	ptrc_writer_stand_at(w, index, gen, PTRC_CHUNK_FIRST);
	w->count = 0;
	w->base = w->stamp ? w->stamp : ptrc_stream_now(h);
	w->last = w->base;
	w->last_origin = w->origin;
	w->epoch = ptrc_load_acquire(&h->epoch);
	w->chunk->base = w->base;
	w->chunk->origin = w->origin;
	ptrc_store_relaxed(&ctl->epoch, w->epoch);
	ptrc_store_relaxed(&ctl->tfirst, w->base);
	ptrc_store_release(&w->chunk->pos, (uint64_t)gen << 32 | PTRC_CHUNK_FIRST);
}

/* Reserves memory for a chunk that was never in use, for all its pages in one call. */
static bool make_real(struct ptrc_writer *w, const struct found *f)
{
	return PTRC_CHUNK_GEN(f->word) != 0 ||
	       ptrc_file_populate(ptrc_pool_chunk(&w->pool, f->index), w->pool.chunk_size);
}

/* Takes an empty chunk that has memory. False if another writer was faster. */
static bool take(struct ptrc_writer *w, struct found f)
{
	uint32_t gen = PTRC_CHUNK_GEN(f.word) + 1;

	if (!ptrc_cas(&ptrc_pool_ctl(&w->pool, f.index)->word, &f.word,
		      PTRC_CHUNK_WORD(gen, w->slot_index, 0, PTRC_CHUNK_OWNED)))
		return false;
	begin_chunk(w, f.index, gen);
	return true;
}

/* Takes a PARTIAL chunk, to continue after its last record. */
static bool adopt(struct ptrc_writer *w, struct found f)
{
	struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(&w->pool, f.index);
	uint32_t gen = PTRC_CHUNK_GEN(f.word);
	uint32_t end = ptrc_load_relaxed(&ctl->end);
	uint32_t count = ptrc_load_relaxed(&ctl->count);
	uint64_t tlast = ptrc_load_relaxed(&ctl->tlast);
	uint64_t epoch = ptrc_load_relaxed(&ctl->epoch);

	/* This writer's stamps must not be older than the last stamp of the chunk. If that stamp
	 * is far in the future, the memory is damaged. */
	if (!ptrc_writer_is_place(w, end) || tlast > ptrc_stream_now(w->header) + PTRC_STAMP_SLACK)
		return false;
	if (!ptrc_cas(&ctl->word, &f.word,
		      PTRC_CHUNK_WORD(gen, w->slot_index, PTRC_CHUNK_CLAIM(f.word) + 1,
				      PTRC_CHUNK_OWNED)))
		return false;
	ptrc_writer_stand_at(w, f.index, gen, end);
	w->count = count;
	w->epoch = epoch;
	w->last = tlast;
	/* The stamp to which the times of the next records would be relative is unknown, because
	 * the records in the chunk may have changed it. The impossible last_origin makes the writer
	 * store a CONTEXT record next, which sets a new base. */
	w->base = 0;
	memset(&w->last_origin, 0xff, sizeof(w->last_origin));
	return true;
}

/* Overwrites ("steals") a chunk of a LOOP stream. If the thief, the writer that does this, dies
 * while the state is STEALING, another writer that finds no room completes the theft by this
 * function. */
static bool steal(struct ptrc_writer *w, struct found f)
{
	struct ptrc_stream_header *h = w->header;
	struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(&w->pool, f.index);
	uint64_t stealing = (f.word & ~PTRC_CHUNK_STATE_MASK) | PTRC_CHUNK_STEALING;
	uint32_t lost = ptrc_chunk_unread_events(ctl, f.word), still_lost;

	/* The lost events are counted before the chunk is taken. If this writer dies in between,
	 * the count includes events that still exist; if it dies later, the writer that completes
	 * the theft counts the events again. That is better than not counting them: as no reader
	 * looks at a chunk that is being stolen, they would be neither read nor counted as lost. */
	ptrc_add_relaxed(&h->lost_events, lost);
	if (PTRC_CHUNK_STATE(f.word) != PTRC_CHUNK_STEALING &&
	    !ptrc_cas(&ctl->word, &f.word, stealing)) {
		atomic_fetch_sub_explicit(&h->lost_events, lost, memory_order_relaxed);
		return false;
	}
	f.word = stealing;
	/* Before the chunk was taken, a reader may have read some of the events counted above. */
	still_lost = ptrc_chunk_unread_events(ctl, f.word);
	atomic_fetch_sub_explicit(&h->lost_events, lost - still_lost, memory_order_relaxed);
	ptrc_chunk_note_loss(&w->pool, f.index, f.word);
	if ((ptrc_load_relaxed(&h->status) & (PTRC_ST_FULL | PTRC_ST_OVERRUN)) !=
	    (PTRC_ST_FULL | PTRC_ST_OVERRUN))
		ptrc_status_set(h, PTRC_ST_FULL | PTRC_ST_OVERRUN | PTRC_ST_EVER_OVERRUN);
	if (make_real(w, &f) && take(w, f))
		return true;
	atomic_fetch_sub_explicit(&h->lost_events, still_lost, memory_order_relaxed);
	return false;
}

/* Takes the next chunk that was never in use. False if there is no memory for it, or if all
 * chunks are in use. */
static bool take_new(struct ptrc_writer *w)
{
	struct ptrc_stream_header *h = w->header;
	struct found f = {.index = ptrc_pool_used(&w->pool)};

	while (f.index < w->pool.chunk_count) {
		struct ptrc_chunk_ctl *ctl = ptrc_pool_ctl(&w->pool, f.index);
		uint32_t used = f.index;

		if (!ptrc_file_populate(ctl, sizeof(*ctl)) || !make_real(w, &f))
			return false;
		if (ptrc_cas(&h->chunks_used, &used, used + 1) && take(w, f))
			return true;
		f.index = ptrc_pool_used(&w->pool);
	}
	return false;
}

/* ---- giving room to a writer ---- */

/* Sets the limit up to which the writer may fill its chunk without another search for room. */
static void grant(struct ptrc_writer *w, const struct survey *v, uint32_t need)
{
	uint64_t min = w->header->stream_min_size, room;

	w->limit = (uint8_t *)w->chunk + w->pool.chunk_size;
	if (w->header->policy == POSIX_TRACE_LOOP)
		return;
	room = v->unread < min ? min - v->unread : 0;
	if (room < need)
		room = need;
	if (room < (uint64_t)(w->limit - w->at))
		w->limit = w->at + room;
}

static bool is_time_to_reap(const struct ptrc_writer *w)
{
	uint32_t used = ptrc_pool_used(&w->pool), base = w->header->base_chunk_count;

	return used >= base && ptrc_slots_is_time_to_reap(used, used - base);
}

bool ptrc_space_make(struct ptrc_writer *w, uint32_t need, bool is_forced)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t min = h->stream_min_size;
	bool is_loop = h->policy == POSIX_TRACE_LOOP;
	bool is_keeper = w->slot_index == PTRC_SLOT_KEEPER;
	/* If the writer adopts a chunk of another writer, it needs room for a CONTEXT record too. */
	uint32_t need_partial = need + 16 + 8 + (uint32_t)sizeof(struct ptrc_context);
	bool has_looked = false, has_reaped = false;

	w->is_room_coming = true;
	for (unsigned tries = 0; tries < ROOM_TRIES; tries++) {
		bool has_room = false;
		struct survey v;

		survey_chunks(w, need_partial, &v);
		if (h->policy == POSIX_TRACE_FLUSH && !is_keeper && v.unread >= min / 2)
			ptrc_ring_keeper(h, PTRC_WAKE_LOOK);
		if (!is_loop && !is_forced && !is_keeper && v.unread + need > min)
			return false;
		if (w->chunk &&
		    (uint32_t)(w->at - (uint8_t *)w->chunk) + need <= w->pool.chunk_size) {
			grant(w, &v, need);
			return true;
		}
		ptrc_writer_seal(w);
		/* A writer with w->stamp records an event of the past, and another writer's chunk
		 * may have later records; so it does not adopt a chunk. */
		if (is_found(&v.partial) && !is_keeper && !w->stamp && adopt(w, v.partial)) {
			grant(w, &v, need_partial);
			return true;
		}
		if (is_loop && !is_keeper && is_found(&v.victim) &&
		    v.sealed_unread - v.victim_unread >= min &&
		    leaves_enough(&w->pool, v.victim_tlast, min)) {
			has_room = steal(w, v.victim);
		} else if (is_found(&v.free) && make_real(w, &v.free)) {
			has_room = take(w, v.free);
		} else if (!has_looked && is_time_to_reap(w)) {
			/* Reuse chunks of dead threads before the pool grows. */
			ptrc_slots_reap(&w->pool, 0, 0, false);
			has_looked = true;
		} else if (take_new(w)) {
			has_room = true;
		} else if (!has_reaped && !ptrc_slots_were_reaped(h)) {
			ptrc_slots_reap(&w->pool, 0, 0, true);
			has_reaped = true;
		} else if (is_loop && is_found(&v.victim)) {
			has_room = steal(w, v.victim);
		} else if (is_loop && is_found(&v.stuck)) {
			has_room = steal(w, v.stuck);
		} else {
			w->is_room_coming = v.sealed_unread || v.has_pinned;
			return false;
		}
		if (has_room) {
			grant(w, &v, need);
			return true;
		}
	}
	return false;
}
