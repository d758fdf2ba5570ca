/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/writer.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <trace.h>

#include "lib/stream/clock.h"
#include "lib/base/populate.h"
#include "lib/stream/stream.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"

/* More than two clocks that differ, a clock entry that others append and a chunk that others
 * take need, one after the other. Beyond that the stream's memory is damaged. */
#define PUT_TRIES 1000

/* Some milliseconds, with others at work. */
#define REAPER_TRIES 200

#define WORD(gen, slot, claim, state)                \
	((uint64_t)(gen) << PTRC_CHUNK_GEN_SHIFT |   \
	 (uint64_t)(slot) << PTRC_CHUNK_SLOT_SHIFT | \
	 (uint64_t)(claim) << PTRC_CHUNK_CLAIM_SHIFT | (state))

/* ---- walking ---- */

bool ptrc_walk_next(struct ptrc_walk *k, struct ptrc_walk_record *r)
{
	while (k->off < k->end) {
		struct ptrc_record head;
		uint64_t size, stamp;
		uint32_t data;

		if (k->end - k->off < sizeof(head))
			return false;
		memcpy(&head, k->bytes + k->off, sizeof(head));
		size = ptrc_record_size(&head);
		if (size > k->end - k->off)
			return false;
		data = k->off + ptrc_record_head(&head);
		stamp = k->base + head.delta;
		if (head.id_flags & PTRC_REC_FULLSTAMP)
			memcpy(&stamp, k->bytes + k->off + sizeof(head), sizeof(stamp));
		if (head.id_flags & PTRC_REC_CONTEXT) {
			if (ptrc_record_len(&head) != sizeof(k->origin))
				return false;
			memcpy(&k->origin, k->bytes + data, sizeof(k->origin));
			if (head.id_flags & PTRC_REC_FULLSTAMP)
				k->base = stamp;
			k->off += (uint32_t)size;
			continue;
		}
		if (ptrc_record_id(&head) == 0 || ptrc_record_id(&head) > PTRC_REC_ID_MAX)
			return false;
		r->stamp = stamp;
		r->addr = ptrc_record_addr(&head);
		r->id_flags = head.id_flags;
		r->len = ptrc_record_len(&head);
		r->off = k->off;
		r->data = data;
		k->off += (uint32_t)size;
		return true;
	}
	return false;
}

uint32_t ptrc_chunk_end(const struct ptrc_pool *pool, uint32_t index, uint64_t word)
{
	struct ptrc_stream_header *h = pool->header;
	const struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[index];
	uint32_t end;

	if (PTRC_CHUNK_STATE(word) == PTRC_CHUNK_FREE ||
	    PTRC_CHUNK_STATE(word) > PTRC_CHUNK_STEALING)
		return 0;
	if (PTRC_CHUNK_STATE(word) == PTRC_CHUNK_OWNED) {
		/* Pairs with the release of pos: the records before end are complete. */
		uint64_t pos = atomic_load_explicit(&ptrc_pool_chunk(pool, index)->pos,
						    memory_order_acquire);

		if ((uint32_t)(pos >> 32) != PTRC_CHUNK_GEN(word))
			return 0; /* being taken: not initialised yet */
		end = (uint32_t)pos;
	} else {
		end = atomic_load_explicit(&ctl->end, memory_order_relaxed);
	}
	return end > PTRC_CHUNK_FIRST && end <= pool->chunk_size ? end : 0;
}

uint32_t ptrc_chunk_rpos(const struct ptrc_chunk_ctl *ctl, uint64_t word, uint32_t end)
{
	uint64_t rpos = atomic_load_explicit(&ctl->rpos, memory_order_acquire);
	uint32_t off = (uint32_t)rpos;

	if ((uint32_t)(rpos >> 32) != PTRC_CHUNK_GEN(word) || off < PTRC_CHUNK_FIRST)
		return PTRC_CHUNK_FIRST;
	return off < end ? off : end;
}

/* ---- what was lost ---- */

static void store_min(_Atomic uint64_t *word, uint64_t value)
{
	uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);

	while (value < seen &&
	       !atomic_compare_exchange_weak_explicit(
		       word, &seen, value, memory_order_release, memory_order_relaxed))
		;
}

static void store_max(_Atomic uint64_t *word, uint64_t value)
{
	uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);

	while (value > seen &&
	       !atomic_compare_exchange_weak_explicit(
		       word, &seen, value, memory_order_release, memory_order_relaxed))
		;
}

/* The horizon goes first: a reader that sees events behind first_lost also sees how far the
 * loss reaches. Done by the thief between STEALING and OWNED; a reader that meets STEALING
 * does it too, since the thief may be slow or dead, and both come to the same. */
void ptrc_chunk_note_loss(const struct ptrc_pool *pool, uint32_t index, uint64_t word)
{
	struct ptrc_stream_header *h = pool->header;
	struct ptrc_chunk *c = ptrc_pool_chunk(pool, index);
	struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[index];
	uint32_t end = ptrc_chunk_end(pool, index, word);
	uint32_t rpos = ptrc_chunk_rpos(ctl, word, end);
	struct ptrc_walk k = {.bytes = (const uint8_t *)c,
			      .off = PTRC_CHUNK_FIRST,
			      .end = end,
			      .base = c->base};
	struct ptrc_walk_record r;

	if (rpos >= end)
		return;
	while (ptrc_walk_next(&k, &r)) {
		if (r.off < rpos)
			continue;
		/* Unless the thief is through meanwhile and the bytes are others'. */
		atomic_thread_fence(memory_order_acquire);
		if (PTRC_CHUNK_GEN(atomic_load_explicit(
			    &ctl->word, memory_order_acquire)) != PTRC_CHUNK_GEN(word))
			return;
		store_max(&h->horizon,
			  atomic_load_explicit(&ctl->tlast, memory_order_relaxed));
		store_min(&h->first_lost, r.stamp);
		return;
	}
}

void ptrc_writer_count_loss(struct ptrc_stream_header *h)
{
	atomic_fetch_add_explicit(&h->lost_events, 1, memory_order_relaxed);
	if (!(atomic_load_explicit(&h->status, memory_order_relaxed) & PTRC_ST_OVERRUN))
		ptrc_status_set(h, PTRC_ST_OVERRUN | PTRC_ST_EVER_OVERRUN);
}

/* ---- where a writer stands ---- */

static void stand_at(struct ptrc_writer *w, struct ptrc_chunk *c, uint32_t gen,
		     uint32_t pos)
{
	w->chunk = c;
	w->gen = gen;
	w->at = (uint8_t *)c + pos;
	w->limit = w->at;
	w->pos_bias = ((uint64_t)gen << 32) - (uintptr_t)c;
}

static void stand_nowhere(struct ptrc_writer *w)
{
	w->chunk = NULL;
	w->at = w->limit = NULL;
}

static uint32_t pos_of(const struct ptrc_writer *w)
{
	return (uint32_t)(w->at - (uint8_t *)w->chunk);
}

/* May a record begin there? What the memory says of it may be damaged. */
static bool is_place(const struct ptrc_writer *w, uint32_t pos)
{
	return pos >= PTRC_CHUNK_FIRST && pos <= w->pool.chunk_size && pos % 8 == 0;
}

/* What the chunk says rules: the writer's own idea may be one record further, or less far,
 * after a call was left by siglongjmp. */
static uint32_t published_pos(const struct ptrc_writer *w)
{
	return (uint32_t)atomic_load_explicit(&w->chunk->pos, memory_order_relaxed);
}

/* ---- giving chunks back ---- */

/* OWNED -> SEALED or PARTIAL. The facts first: they are valid once the word says so. */
static void seal(struct ptrc_stream_header *h, uint32_t index, uint64_t word,
		 uint32_t end, uint32_t count, uint64_t tlast, uint64_t state)
{
	struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[index];

	atomic_store_explicit(&ctl->tlast, tlast, memory_order_relaxed);
	atomic_store_explicit(&ctl->end, end, memory_order_relaxed);
	atomic_store_explicit(&ctl->count, count, memory_order_relaxed);
	for (;;) {
		uint64_t seen = atomic_load_explicit(&ctl->word, memory_order_relaxed);

		if ((seen & ~PTRC_CHUNK_PINS) != (word & ~PTRC_CHUNK_PINS))
			return; /* somebody took us for dead: theirs now */
		if (atomic_compare_exchange_weak_explicit(
			    &ctl->word, &seen, (seen & ~PTRC_CHUNK_STATE_MASK) | state,
			    memory_order_release, memory_order_relaxed))
			return;
	}
}

static uint64_t own_word(const struct ptrc_writer *w)
{
	return atomic_load_explicit(&ptrc_stream_ctl(w->header)[w->index].word,
				    memory_order_relaxed);
}

static bool owns(const struct ptrc_writer *w, uint64_t word)
{
	return PTRC_CHUNK_STATE(word) == PTRC_CHUNK_OWNED &&
	       PTRC_CHUNK_GEN(word) == w->gen && PTRC_CHUNK_SLOT(word) == w->slot_index;
}

static void give_back(struct ptrc_writer *w, bool is_full)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t word;
	uint32_t pos;

	if (!w->chunk)
		return;
	word = own_word(w);
	pos = published_pos(w);
	if (owns(w, word)) {
		if (pos <= PTRC_CHUNK_FIRST ||
		    w->epoch != atomic_load_explicit(&h->epoch, memory_order_acquire)) {
			uint64_t seen = word & ~PTRC_CHUNK_PINS;

			/* A reader's pin lasts an instant; with it, it is sealed empty. */
			if (!atomic_compare_exchange_strong_explicit(
				    &ptrc_stream_ctl(h)[w->index].word, &seen,
				    WORD(w->gen, 0, 0, PTRC_CHUNK_FREE),
				    memory_order_release, memory_order_relaxed))
				seal(h, w->index, word, pos, (uint32_t)w->count, w->last,
				     PTRC_CHUNK_SEALED);
		} else {
			seal(h, w->index, word, pos, (uint32_t)w->count, w->last,
			     is_full ? PTRC_CHUNK_SEALED : PTRC_CHUNK_PARTIAL);
		}
	}
	stand_nowhere(w);
}

void ptrc_writer_release(struct ptrc_writer *w)
{
	give_back(w, false);
}

void ptrc_chunk_seal_dead(const struct ptrc_pool *pool, uint32_t index, uint64_t word)
{
	struct ptrc_stream_header *h = pool->header;
	struct ptrc_chunk *c = ptrc_pool_chunk(pool, index);
	struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[index];
	uint32_t end = ptrc_chunk_end(pool, index, word);
	struct ptrc_walk k = {.bytes = (const uint8_t *)c,
			      .off = PTRC_CHUNK_FIRST,
			      .end = end,
			      .base = c->base};
	struct ptrc_walk_record r;
	uint64_t tlast = 0;
	uint32_t count = 0;

	if (end == 0 || atomic_load_explicit(&ctl->epoch, memory_order_relaxed) !=
				atomic_load_explicit(&h->epoch, memory_order_acquire)) {
		word &= ~PTRC_CHUNK_PINS;
		atomic_compare_exchange_strong_explicit(
			&ctl->word, &word,
			WORD(PTRC_CHUNK_GEN(word), 0, 0, PTRC_CHUNK_FREE),
			memory_order_release, memory_order_relaxed);
		return;
	}
	while (ptrc_walk_next(&k, &r)) {
		tlast = r.stamp;
		count++;
	}
	/* Damaged: nobody writes behind it any more; nor do others where a keeper did, whose
	 * chunks are no part of the room. */
	seal(h, index, word, end, count, tlast,
	     k.off == end && PTRC_CHUNK_SLOT(word) != PTRC_SLOT_KEEPER
		     ? PTRC_CHUNK_PARTIAL
		     : PTRC_CHUNK_SEALED);
}

/* ---- slots ---- */

static bool slot_is_dead(struct ptrc_slot *s, uint64_t owner, int pid, uint64_t image)
{
	uint64_t its;

	if (ptrc_thread_is_gone((int)(owner >> PTRC_SLOT_TID_SHIFT)))
		return true;
	its = atomic_load_explicit(&s->image, memory_order_acquire); /* 0: just claimed */
	return pid != 0 && its != 0 && its != image &&
	       atomic_load_explicit(&s->pid, memory_order_relaxed) == pid;
}

static uint64_t owner_word(int tid)
{
	uint64_t ms = (uint64_t)ptrc_clock_ns(CLOCK_BOOTTIME) / 1000000;

	return (uint64_t)(uint32_t)tid << PTRC_SLOT_TID_SHIFT |
	       (ms & PTRC_SLOT_CLAIM_MASK);
}

/* One reaper at a time: the facts of a dead owner's chunk stand before its word lets others
 * have it, and a second reaper that was slow would put them into what is somebody else's by
 * then. Not waited for long: what is not reaped now will be later. */
static bool lock_reaper(struct ptrc_stream_header *h)
{
	uint64_t mine = owner_word(ptrc_sys_gettid());

	for (unsigned tries = 0; tries < REAPER_TRIES; tries++) {
		uint64_t seen = 0;
		int tid;

		if (atomic_compare_exchange_strong_explicit(&h->reaper, &seen, mine,
							    memory_order_acquire,
							    memory_order_relaxed))
			return true;
		tid = (int)(seen >> PTRC_SLOT_TID_SHIFT);
		if ((tries == REAPER_TRIES - 1
			     ? ptrc_thread_has_ended(tid, seen & PTRC_SLOT_CLAIM_MASK)
			     : ptrc_thread_is_gone(tid)) &&
		    atomic_compare_exchange_strong_explicit(&h->reaper, &seen, mine,
							    memory_order_acquire,
							    memory_order_relaxed))
			return true;
		ptrc_sys(SYS_sched_yield, 0);
	}
	return false;
}

void ptrc_slots_reap(const struct ptrc_pool *pool, int pid, uint64_t image)
{
	struct ptrc_stream_header *h = pool->header;
	uint32_t used = atomic_load_explicit(&h->slots_used, memory_order_acquire);

	if (!lock_reaper(h))
		return;
	if (used > PTRC_SLOT_COUNT)
		used = PTRC_SLOT_COUNT;
	for (uint32_t i = PTRC_SLOT_FIRST; i < used; i++) {
		struct ptrc_slot *s = &ptrc_stream_slots(h)[i];
		uint64_t owner = atomic_load_explicit(&s->owner, memory_order_acquire);
		uint32_t chunks = ptrc_pool_used(pool);

		if (owner == 0 || !slot_is_dead(s, owner, pid, image))
			continue;
		/* Chunks first: a slot is not given to another while a word names it. */
		for (uint32_t c = 0; c < chunks; c++) {
			uint64_t word = atomic_load_explicit(&ptrc_stream_ctl(h)[c].word,
							     memory_order_acquire);

			if (PTRC_CHUNK_STATE(word) == PTRC_CHUNK_OWNED &&
			    PTRC_CHUNK_SLOT(word) == i &&
			    atomic_load_explicit(&s->owner, memory_order_relaxed) ==
				    owner)
				ptrc_chunk_seal_dead(pool, c, word);
		}
		ptrc_slot_release(h, i, owner);
	}
	atomic_store_explicit(&h->reaper, 0, memory_order_release);
}

void ptrc_slot_release(struct ptrc_stream_header *h, uint32_t slot_index, uint64_t owner)
{
	struct ptrc_slot *s = &ptrc_stream_slots(h)[slot_index];

	/* Of the next owner nobody shall think that it is of this one's image. */
	if (atomic_load_explicit(&s->owner, memory_order_relaxed) == owner)
		atomic_store_explicit(&s->image, 0, memory_order_relaxed);
	atomic_compare_exchange_strong_explicit(
		&s->owner, &owner, 0, memory_order_release, memory_order_relaxed);
}

static bool claim(struct ptrc_stream_header *h, uint32_t i, int pid, uint64_t image,
		  uint64_t owner)
{
	struct ptrc_slot *s = &ptrc_stream_slots(h)[i];
	uint64_t none = 0;

	if (atomic_load_explicit(&s->owner, memory_order_relaxed) != 0 ||
	    !atomic_compare_exchange_strong_explicit(
		    &s->owner, &none, owner, memory_order_acquire, memory_order_relaxed))
		return false;
	atomic_store_explicit(&s->frame, 0, memory_order_relaxed); /* a dead owner's */
	atomic_store_explicit(&s->pid, pid, memory_order_relaxed);
	atomic_store_explicit(&s->image, image, memory_order_release);
	atomic_fetch_add_explicit(&h->threads, 1, memory_order_relaxed);
	return true;
}

uint32_t ptrc_slot_claim(const struct ptrc_pool *pool, int pid, int tid, uint64_t image,
			 uint64_t *owner)
{
	struct ptrc_stream_header *h = pool->header;
	uint32_t used;

	*owner = owner_word(tid);
	for (int attempt = 0; attempt < 2; attempt++) {
		used = atomic_load_explicit(&h->slots_used, memory_order_acquire);
		if (used > PTRC_SLOT_COUNT)
			used = PTRC_SLOT_COUNT;
		for (uint32_t i = PTRC_SLOT_FIRST; i < used; i++)
			if (claim(h, i, pid, image, *owner))
				return i;
		/* Before the table grows, and when it cannot: those of the dead. */
		if (attempt == 0 && used % 32 == 2 % 32)
			ptrc_slots_reap(pool, pid, image);
	}
	while (used < PTRC_SLOT_COUNT) {
		if (!ptrc_populate(&ptrc_stream_slots(h)[used], sizeof(struct ptrc_slot)))
			return UINT32_MAX;
		if (atomic_compare_exchange_strong_explicit(
			    &h->slots_used, &used, used + 1, memory_order_acq_rel,
			    memory_order_acquire))
			used++;
		if (used > 0 && used <= PTRC_SLOT_COUNT &&
		    claim(h, used - 1, pid, image, *owner))
			return used - 1;
	}
	return UINT32_MAX;
}

/* ---- taking chunks ---- */

struct survey {
	uint64_t unread;	/* bytes to be reported or flushed, the keeper's aside */
	uint64_t sealed_unread; /* of them in chunks nobody owns */
	uint32_t free, partial, victim, stuck; /* chunk indices, UINT32_MAX: none */
	uint64_t free_word, partial_word, victim_word, stuck_word;
	uint64_t victim_tlast;
	uint64_t victim_unread;
};

/* Rather one that has been in use: its memory is there. */
static void note_free(struct survey *v, uint32_t index, uint64_t word)
{
	if (v->free != UINT32_MAX &&
	    (PTRC_CHUNK_GEN(v->free_word) != 0 || PTRC_CHUNK_GEN(word) == 0))
		return;
	v->free = index;
	v->free_word = word;
}

static void look_around(struct ptrc_writer *w, uint32_t need, struct survey *v)
{
	struct ptrc_stream_header *h = w->header;
	uint32_t used = ptrc_pool_used(&w->pool);
	uint64_t epoch = atomic_load_explicit(&h->epoch, memory_order_acquire);

	memset(v, 0, sizeof(*v));
	v->free = v->partial = v->victim = v->stuck = UINT32_MAX;
	for (uint32_t i = 0; i < used; i++) {
		struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[i];
		uint64_t word = atomic_load_explicit(&ctl->word, memory_order_acquire);
		uint64_t state = PTRC_CHUNK_STATE(word);
		uint32_t end, unread;
		uint64_t tlast;

		if (state == PTRC_CHUNK_FREE) {
			note_free(v, i, word);
			continue;
		}
		end = ptrc_chunk_end(&w->pool, i, word);
		if (atomic_load_explicit(&ctl->epoch, memory_order_relaxed) != epoch)
			unread = 0; /* cleared */
		else
			unread = end ? end - ptrc_chunk_rpos(ctl, word, end) : 0;
		if (PTRC_CHUNK_SLOT(word) != PTRC_SLOT_KEEPER)
			v->unread += unread;
		if (state == PTRC_CHUNK_OWNED)
			continue;
		if (state == PTRC_CHUNK_STEALING) {
			v->stuck = i;
			v->stuck_word = word;
			continue;
		}
		v->sealed_unread += unread;
		if (word & PTRC_CHUNK_PINS)
			continue;
		if (unread == 0) {
			note_free(v, i, word);
			continue;
		}
		if (state == PTRC_CHUNK_PARTIAL && w->pool.chunk_size - end >= need &&
		    PTRC_CHUNK_SLOT(word) != PTRC_SLOT_KEEPER &&
		    (word & PTRC_CHUNK_CLAIM_MASK) != PTRC_CHUNK_CLAIM_MASK) {
			v->partial = i;
			v->partial_word = word;
		}
		tlast = atomic_load_explicit(&ctl->tlast, memory_order_relaxed);
		if (v->victim == UINT32_MAX || tlast < v->victim_tlast) {
			v->victim = i;
			v->victim_word = word;
			v->victim_tlast = tlast;
			v->victim_unread = unread;
		}
	}
}

/* If the chunk that ends at `tlast` went, and what is older in others with it: would
 * what is left be the newest `min` bytes without a gap? Open chunks are not counted: their
 * owners may not record for long. */
static bool leaves_enough(const struct ptrc_pool *pool, uint64_t tlast, uint64_t min)
{
	struct ptrc_stream_header *h = pool->header;
	uint32_t used = ptrc_pool_used(pool);
	uint64_t epoch = atomic_load_explicit(&h->epoch, memory_order_acquire), sum = 0;

	for (uint32_t i = 0; i < used && sum < min; i++) {
		struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[i];
		uint64_t word = atomic_load_explicit(&ctl->word, memory_order_acquire);
		uint32_t end;

		if ((PTRC_CHUNK_STATE(word) != PTRC_CHUNK_SEALED &&
		     PTRC_CHUNK_STATE(word) != PTRC_CHUNK_PARTIAL) ||
		    atomic_load_explicit(&ctl->epoch, memory_order_relaxed) != epoch ||
		    atomic_load_explicit(&ctl->tfirst, memory_order_relaxed) <= tlast)
			continue;
		end = ptrc_chunk_end(pool, i, word);
		if (end)
			sum += end - ptrc_chunk_rpos(ctl, word, end);
	}
	return sum >= min;
}

/* What the chunk's owner may use without asking again. */
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

/* The chunk is ours by its word; make it begin. pos comes last: before it, the chunk is
 * taken for not initialised and, if we die, goes back as FREE. */
static void begin_chunk(struct ptrc_writer *w, uint32_t index, uint32_t gen)
{
	struct ptrc_stream_header *h = w->header;
	struct ptrc_chunk *c = ptrc_pool_chunk(&w->pool, index);

	stand_at(w, c, gen, PTRC_CHUNK_FIRST);
	w->index = index;
	w->count = 0;
	w->base = ptrc_stream_now(h);
	w->last = w->base;
	w->last_origin = w->origin;
	w->epoch = atomic_load_explicit(&h->epoch, memory_order_acquire);
	c->base = w->base;
	c->origin = w->origin;
	atomic_store_explicit(&ptrc_stream_ctl(h)[index].epoch, w->epoch,
			      memory_order_relaxed);
	atomic_store_explicit(&ptrc_stream_ctl(h)[index].tfirst, w->base,
			      memory_order_relaxed);
	atomic_store_explicit(&c->pos, (uint64_t)gen << 32 | PTRC_CHUNK_FIRST,
			      memory_order_release);
}

/* First use ever: make the pages real in one call rather than by a fault each. */
static bool make_real(struct ptrc_writer *w, uint32_t index, uint64_t word)
{
	return PTRC_CHUNK_GEN(word) != 0 ||
	       ptrc_populate(ptrc_pool_chunk(&w->pool, index), w->pool.chunk_size);
}

/* It is real. False: another was faster. */
static bool take(struct ptrc_writer *w, uint32_t index, uint64_t word)
{
	uint32_t gen = PTRC_CHUNK_GEN(word) + 1;

	if (!atomic_compare_exchange_strong_explicit(
		    &ptrc_stream_ctl(w->header)[index].word, &word,
		    WORD(gen, w->slot_index, 0, PTRC_CHUNK_OWNED), memory_order_acq_rel,
		    memory_order_relaxed))
		return false;
	begin_chunk(w, index, gen);
	return true;
}

static bool adopt(struct ptrc_writer *w, uint32_t index, uint64_t word)
{
	struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(w->header)[index];
	struct ptrc_chunk *c = ptrc_pool_chunk(&w->pool, index);
	uint64_t claims = ((word & PTRC_CHUNK_CLAIM_MASK) >> PTRC_CHUNK_CLAIM_SHIFT) + 1;
	uint32_t end = atomic_load_explicit(&ctl->end, memory_order_relaxed);
	uint32_t count = atomic_load_explicit(&ctl->count, memory_order_relaxed);
	uint64_t tlast = atomic_load_explicit(&ctl->tlast, memory_order_relaxed);
	uint64_t epoch = atomic_load_explicit(&ctl->epoch, memory_order_relaxed);

	/* Our records must follow its last one, whatever the memory says. */
	if (!is_place(w, end) || tlast > ptrc_stream_now(w->header) + PTRC_STAMP_SLACK)
		return false;
	if (!atomic_compare_exchange_strong_explicit(
		    &ctl->word, &word,
		    WORD(PTRC_CHUNK_GEN(word), w->slot_index, claims, PTRC_CHUNK_OWNED),
		    memory_order_acq_rel, memory_order_relaxed))
		return false;
	stand_at(w, c, PTRC_CHUNK_GEN(word), end);
	w->index = index;
	w->count = count;
	w->epoch = epoch;
	w->last = tlast;
	/* Its base is unknown here if it moved: the context record that must follow anyway
	 * sets a new one. */
	w->base = 0;
	memset(&w->last_origin, 0xff, sizeof(w->last_origin));
	return true;
}

static bool steal(struct ptrc_writer *w, uint32_t index, uint64_t word)
{
	struct ptrc_stream_header *h = w->header;
	struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[index];
	uint64_t stealing = (word & ~PTRC_CHUNK_STATE_MASK) | PTRC_CHUNK_STEALING;
	uint32_t count, consumed = 0;

	if (PTRC_CHUNK_STATE(word) != PTRC_CHUNK_STEALING &&
	    !atomic_compare_exchange_strong_explicit(&ctl->word, &word, stealing,
						     memory_order_acq_rel,
						     memory_order_relaxed))
		return false;
	count = atomic_load_explicit(&ctl->count, memory_order_relaxed);
	if ((uint32_t)(atomic_load_explicit(&ctl->rpos, memory_order_acquire) >> 32) ==
	    PTRC_CHUNK_GEN(word))
		consumed = atomic_load_explicit(&ctl->rcount, memory_order_relaxed);
	ptrc_chunk_note_loss(&w->pool, index, stealing);
	/* Death here: STEALING stays; whoever finds no other room completes it. */
	if (!make_real(w, index, stealing) || !take(w, index, stealing))
		return false;
	if (count > consumed)
		atomic_fetch_add_explicit(&h->lost_events, count - consumed,
					  memory_order_relaxed);
	if ((atomic_load_explicit(&h->status, memory_order_relaxed) &
	     (PTRC_ST_FULL | PTRC_ST_OVERRUN)) != (PTRC_ST_FULL | PTRC_ST_OVERRUN))
		ptrc_status_set(h, PTRC_ST_FULL | PTRC_ST_OVERRUN | PTRC_ST_EVER_OVERRUN);
	return true;
}

/* False: there is no memory, or the pool is as large as can be. */
static bool take_new(struct ptrc_writer *w)
{
	struct ptrc_stream_header *h = w->header;
	uint32_t used = ptrc_pool_used(&w->pool);

	while (used < w->pool.chunk_count) {
		struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[used];

		if (!ptrc_populate(ctl, sizeof(*ctl)) || !make_real(w, used, 0))
			return false;
		if (atomic_compare_exchange_strong_explicit(
			    &h->chunks_used, &used, used + 1, memory_order_acq_rel,
			    memory_order_acquire) &&
		    take(w, used, 0))
			return true;
		used = ptrc_pool_used(&w->pool);
	}
	return false;
}

void ptrc_ring_keeper(struct ptrc_stream_header *h)
{
	if (atomic_exchange_explicit(&h->keeper_wake, 1, memory_order_acq_rel))
		return;
	atomic_fetch_add_explicit(&h->keeper_bell, 1, memory_order_release);
	ptrc_sys(SYS_futex, &h->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
}

/* Give w room for `need` bytes. False: the stream is full. */
static bool make_room(struct ptrc_writer *w, uint32_t need, bool is_forced)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t min = h->stream_min_size;
	bool is_loop = h->policy == POSIX_TRACE_LOOP;
	/* What a context record takes, in case we move to a chunk of another's. */
	uint32_t adopted = need + 16 + 8 + (uint32_t)sizeof(struct ptrc_context);
	bool has_reaped = false;

	for (unsigned tries = 0; tries < 1000; tries++) {
		bool is_keeper = w->slot_index == PTRC_SLOT_KEEPER;
		struct survey v;

		look_around(w, adopted, &v);
		if (h->policy == POSIX_TRACE_FLUSH && !is_keeper && v.unread >= min / 2)
			ptrc_ring_keeper(h);
		if (!is_loop && !is_forced && !is_keeper && v.unread + need > min)
			return false;
		if (w->chunk && pos_of(w) + need <= w->pool.chunk_size) {
			grant(w, &v, need);
			return true;
		}
		give_back(w, true);
		if (v.partial != UINT32_MAX && !is_keeper &&
		    adopt(w, v.partial, v.partial_word)) {
			grant(w, &v, adopted);
			return true;
		}
		if (is_loop && !is_keeper && v.victim != UINT32_MAX &&
		    v.sealed_unread - v.victim_unread >= min &&
		    leaves_enough(&w->pool, v.victim_tlast, min)) {
			if (steal(w, v.victim, v.victim_word))
				return grant(w, &v, need), true;
			continue;
		}
		if (v.free != UINT32_MAX && make_real(w, v.free, v.free_word)) {
			if (take(w, v.free, v.free_word))
				return grant(w, &v, need), true;
			continue;
		}
		if (!has_reaped && ptrc_pool_used(&w->pool) >= h->base_chunk_count) {
			/* Before the pool grows: chunks of the dead. */
			ptrc_slots_reap(&w->pool, 0, 0);
			has_reaped = true;
			continue;
		}
		if (take_new(w))
			return grant(w, &v, need), true;
		if (is_loop && v.victim != UINT32_MAX) {
			if (steal(w, v.victim, v.victim_word))
				return grant(w, &v, need), true;
			continue;
		}
		if (is_loop && v.stuck != UINT32_MAX) {
			if (steal(w, v.stuck, v.stuck_word))
				return grant(w, &v, need), true;
			continue;
		}
		return false;
	}
	return false;
}

void ptrc_writer_init(struct ptrc_writer *w, const struct ptrc_pool *pool,
		      uint32_t slot_index)
{
	struct ptrc_stream_header *h = pool->header;

	memset(w, 0, sizeof(*w));
	w->pool = *pool;
	w->slot_index = slot_index;
	w->slot = &ptrc_stream_slots(h)[slot_index];
	w->data_max = h->max_data_size < 0xffff ? h->max_data_size : 0xffff;
}

/* ---- recording ---- */

enum ptrc_put_result ptrc_writer_put(struct ptrc_writer *w, const struct ptrc_put *p,
				     uint64_t *stamp)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t size = 16 + ptrc_align8(p->len);
	struct ptrc_record head;
	uint64_t now, control;

	*stamp = ptrc_stream_now(h);
	if (size > h->record_max || size > w->pool.chunk_size - PTRC_CHUNK_FIRST ||
	    (!p->is_forced && size > h->stream_min_size))
		return PTRC_PUT_TOO_BIG;
	if (w->chunk) {
		uint64_t word = own_word(w);

		/* The chunk's own word rules: a handler may have recorded meanwhile. */
		uint32_t pos = published_pos(w);

		if (!owns(w, word) || !is_place(w, pos)) {
			stand_nowhere(w);
		} else if (w->epoch !=
			   atomic_load_explicit(&h->epoch, memory_order_acquire)) {
			give_back(w, true); /* cleared: FREE */
		} else {
			w->at = (uint8_t *)w->chunk + pos;
		}
	}
	for (unsigned tries = 0; tries < PUT_TRIES; tries++) {
		bool has_context;
		uint64_t need;
		uint8_t *at;

		now = ptrc_stream_now(h);
		if (now >= atomic_load_explicit(&h->clock_due, memory_order_acquire)) {
			ptrc_clock_update(h, now);
			now = ptrc_stream_now(h);
		}
		has_context = w->chunk &&
			      (memcmp(&w->origin, &w->last_origin, sizeof(w->origin)) ||
			       now - w->base > h->delta_max);
		need = size + (has_context ? 24 + sizeof(w->origin) : 0);
		if (!w->chunk || need > (uint64_t)(w->limit - w->at)) {
			if (!make_room(w, (uint32_t)need, p->is_forced)) {
				/* The moment at which it was full: what others have recorded
				 * while we looked had its room. */
				*stamp = ptrc_stream_now(h);
				return PTRC_PUT_FULL;
			}
			continue;
		}
		/* From here as on the fast path: mark, counter, control, record, publish. */
		atomic_store_explicit(&w->slot->frame, p->frame, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		control = atomic_load_explicit(&h->control, memory_order_relaxed);
		if (control & PTRC_CTL_FENCE) {
			atomic_thread_fence(memory_order_seq_cst);
			ptrc_counter_fence();
		}
		now = ptrc_stream_now(h);
		atomic_signal_fence(memory_order_seq_cst);
		control = atomic_load_explicit(&h->control, memory_order_relaxed);
		if (!p->is_forced && control != w->expect) {
			atomic_store_explicit(&w->slot->frame, 0, memory_order_release);
			*stamp = now;
			return PTRC_PUT_STALE;
		}
		/* Counters of two processors may differ by a few ticks when a chunk changes
		 * hands; the clock's next entry may have fallen due just now. */
		if (now < w->last ||
		    now >= atomic_load_explicit(&h->clock_due, memory_order_acquire) ||
		    (!has_context && now - w->base > h->delta_max)) {
			atomic_store_explicit(&w->slot->frame, 0, memory_order_release);
			continue;
		}
		at = w->at;
		if (has_context) {
			ptrc_record_fill(&head, 0, PTRC_REC_CONTEXT | PTRC_REC_FULLSTAMP,
					 sizeof(w->origin), 0);
			memcpy(at, &head, sizeof(head));
			memcpy(at + 16, &now, sizeof(now));
			memcpy(at + 24, &w->origin, sizeof(w->origin));
			at += 24 + sizeof(w->origin);
			w->base = now;
			w->last_origin = w->origin;
		}
		ptrc_record_fill(&head, (uint32_t)(now - w->base), p->id_flags, p->len,
				 p->addr);
		memcpy(at, &head, sizeof(head));
		if (p->len)
			memcpy(at + 16, p->data, p->len);
		w->at = at + size;
		w->last = now;
		w->count++;
		/* A record exists when pos covers it; death before leaves nothing. */
		atomic_store_explicit(&w->chunk->pos, (uintptr_t)w->at + w->pos_bias,
				      memory_order_release);
		atomic_store_explicit(&w->slot->frame, 0, memory_order_release);
		now = atomic_load_explicit(&h->clock_due, memory_order_acquire) - 1 -
		      w->base;
		w->delta_max = now < h->delta_max ? now : h->delta_max;
		if (w->delta_max > UINT32_MAX)
			w->delta_max = UINT32_MAX;
		*stamp = w->last;
		return PTRC_PUT_DONE;
	}
	/* The stream's clock, its limits or our chunk's times make no sense any more. */
	give_back(w, true);
	return PTRC_PUT_TOO_BIG;
}

/* ---- full ---- */

/* Three steps, each done by anyone who sees the one before (ptrc_stream_settle): the cut,
 * which alone decides what belongs to the run; the control word; the status. */
bool ptrc_writer_stop_full(struct ptrc_stream_header *h, uint64_t expect, uint64_t stamp)
{
	uint64_t tag = atomic_load_explicit(&h->run, memory_order_acquire) & 0xff;
	uint64_t cut = tag << 56 | ((stamp - h->t0) & PTRC_CUT_TIME_MASK);
	uint64_t seen = atomic_load_explicit(&h->cut, memory_order_acquire);

	if (atomic_load_explicit(&h->control, memory_order_acquire) != expect)
		return false; /* of another run, or stopped already */
	/* Not if a later run has been cut already: we come late. */
	while (seen == PTRC_CUT_NONE || (int8_t)(tag - (seen >> 56)) > 0 ||
	       (seen >> 56 == tag && seen > cut))
		if (atomic_compare_exchange_weak_explicit(&h->cut, &seen, cut,
							  memory_order_acq_rel,
							  memory_order_acquire))
			break;
	atomic_compare_exchange_strong_explicit(
		&h->control, &expect,
		((expect & ~PTRC_CTL_RUN) | PTRC_CTL_LOSING) +
			(UINT64_C(1) << PTRC_CTL_SERIAL_SHIFT),
		memory_order_acq_rel, memory_order_relaxed);
	ptrc_status_auto_stopped(h, tag);
	ptrc_stream_wake_readers(h);
	if (h->policy == POSIX_TRACE_FLUSH)
		ptrc_ring_keeper(h);
	return true;
}

/* As make_room sees it, for a stream in which every open chunk is filled to the brim. */
bool ptrc_pool_would_overwrite(const struct ptrc_pool *pool)
{
	struct ptrc_stream_header *h = pool->header;
	uint32_t used = ptrc_pool_used(pool), victim = UINT32_MAX;
	uint64_t epoch = atomic_load_explicit(&h->epoch, memory_order_acquire);
	uint64_t sum = 0, oldest = UINT64_MAX;

	for (uint32_t i = 0; i < used; i++) {
		struct ptrc_chunk_ctl *ctl = &ptrc_stream_ctl(h)[i];
		uint64_t word = atomic_load_explicit(&ctl->word, memory_order_acquire),
			 tfirst;
		uint32_t end = ptrc_chunk_end(pool, i, word);

		if (end == 0 ||
		    atomic_load_explicit(&ctl->epoch, memory_order_relaxed) != epoch)
			continue;
		if (PTRC_CHUNK_STATE(word) != PTRC_CHUNK_SEALED &&
		    pool->chunk_size - end >= sizeof(struct ptrc_record))
			return false;
		tfirst = atomic_load_explicit(&ctl->tfirst, memory_order_relaxed);
		end -= ptrc_chunk_rpos(ctl, word, end);
		sum += end;
		if (end && tfirst < oldest) {
			oldest = tfirst;
			victim = end;
		}
	}
	return victim != UINT32_MAX && sum - victim >= h->stream_min_size;
}

/* ---- an event call ---- */

enum ptrc_put_result ptrc_writer_record(struct ptrc_writer *w, uint64_t control,
					struct ptrc_put *p, uint64_t bytes)
{
	struct ptrc_stream_header *h = w->header;
	/* Once: the memory is not ours alone. */
	uint64_t stamp, data_max = *(const volatile uint64_t *)&h->max_data_size;
	enum ptrc_put_result result;

	w->expect = control;
	p->id_flags = p->id_flags & PTRC_REC_ID_MASK;
	if (bytes > data_max)
		p->id_flags |= PTRC_REC_TRUNCATED;
	p->len = ptrc_record_len_of(bytes < data_max ? bytes : data_max);
	result = ptrc_writer_put(w, p, &stamp);
	switch (result) {
	case PTRC_PUT_DONE:
		if (control & PTRC_CTL_FENCE)
			atomic_thread_fence(memory_order_seq_cst);
		if (atomic_load_explicit(&h->waiters, memory_order_relaxed))
			ptrc_stream_wake_readers(h);
		break;
	case PTRC_PUT_STALE:
		break;
	case PTRC_PUT_FULL:
		if (h->policy != POSIX_TRACE_LOOP &&
		    !ptrc_writer_stop_full(h, control, stamp))
			return PTRC_PUT_STALE;
		ptrc_writer_count_loss(h);
		break;
	case PTRC_PUT_TOO_BIG:
		ptrc_writer_count_loss(h);
		break;
	}
	return result;
}
