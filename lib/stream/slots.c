/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/slots.h"

#include <time.h>

#include "lib/base/file.h"
#include "lib/base/sys.h"
#include "lib/base/thread_life.h"
#include "lib/stream/chunk.h"
#include "lib/stream/clock.h"

/* The reaper is the thread that takes back the slots of dead threads. While another thread is the
 * reaper, a thread tries this often to become it, for some milliseconds in all, and then gives
 * up. */
#define REAPER_TRIES 100

static bool slot_is_dead(struct ptrc_slot *s, uint64_t owner, int pid, uint64_t image)
{
	uint64_t its;

	if (ptrc_thread_is_dead(ptrc_slot_tid(owner)))
		return true;
	/* `its` is 0 if the owner has just claimed the slot and has not stored its program yet. */
	its = ptrc_load_acquire(&s->image);
	return pid != 0 && its != 0 && its != image && ptrc_load_relaxed(&s->pid) == pid;
}

static uint64_t owner_word(int tid)
{
	uint64_t ms = (uint64_t)ptrc_clock_ns(CLOCK_BOOTTIME) / 1000000;

	return (uint64_t)(uint32_t)tid << PTRC_SLOT_TID_SHIFT | (ms & PTRC_SLOT_CLAIM_MASK);
}

/* Makes this thread the reaper, which takes back slots and chunks of dead threads. There is one at
 * a time: a reaper stores the end of a dead owner's chunk before it releases the chunk, and a
 * second, slow reaper could store it when the chunk already has a new owner. */
static bool lock_reaper(struct ptrc_stream_header *h, bool waits)
{
	uint64_t mine = owner_word(ptrc_sys_gettid());

	for (unsigned tries = 0; tries < REAPER_TRIES; tries++) {
		uint64_t seen = ptrc_load_relaxed(&h->reaper);
		int tid = ptrc_slot_tid(seen);

		if ((tid == 0 || (tries == REAPER_TRIES - 1
					  ? ptrc_thread_has_ended(tid, seen & PTRC_SLOT_CLAIM_MASK)
					  : ptrc_thread_is_gone(tid))) &&
		    ptrc_cas(&h->reaper, &seen, mine))
			return true;
		if (!waits)
			return false;
		ptrc_file_yield(tries);
	}
	return false;
}

void ptrc_slots_reap(const struct ptrc_pool *pool, int pid, uint64_t image, bool waits)
{
	struct ptrc_stream_header *h = pool->header;

	if (!lock_reaper(h, waits))
		return;
	for (uint32_t i = PTRC_SLOT_FIRST, used = ptrc_slots_used(h); i < used; i++) {
		struct ptrc_slot *s = &ptrc_stream_slots(h)[i];
		uint64_t owner = ptrc_load_acquire(&s->owner);

		if (owner == 0 || !slot_is_dead(s, owner, pid, image))
			continue;
		/* Seal the owner's chunks before the slot is freed, so that no thread claims a
		 * slot that the word of a chunk still names. */
		for (uint32_t c = 0, chunks = ptrc_pool_used(pool); c < chunks; c++) {
			uint64_t word = ptrc_load_acquire(&ptrc_pool_ctl(pool, c)->word);

			if (PTRC_CHUNK_STATE(word) == PTRC_CHUNK_OWNED &&
			    PTRC_CHUNK_SLOT(word) == i && ptrc_load_relaxed(&s->owner) == owner)
				ptrc_chunk_seal_dead(pool, c, word);
		}
		ptrc_slot_release(h, i, owner);
	}
	ptrc_store_release(&h->reaper, owner_word(0));
}

bool ptrc_slots_were_reaped(const struct ptrc_stream_header *h)
{
	uint64_t last = ptrc_load_relaxed(&h->reaper);

	return ptrc_slot_tid(last) == 0 &&
	       ((owner_word(0) - last) & PTRC_SLOT_CLAIM_MASK) < ptrc_slots_used(h) / 64;
}

void ptrc_slot_release(struct ptrc_stream_header *h, uint32_t slot_index, uint64_t owner)
{
	struct ptrc_slot *s = &ptrc_stream_slots(h)[slot_index];

	/* The image (identity of the owner's program) is cleared first. Otherwise the next owner
	 * would at first seem to run this owner's program, and a reaper would take it for dead. */
	if (ptrc_load_relaxed(&s->owner) == owner)
		ptrc_store_relaxed(&s->image, 0);
	ptrc_cas(&s->owner, &owner, 0);
}

static bool claim(struct ptrc_stream_header *h, uint32_t i, int pid, uint64_t image, uint64_t owner)
{
	struct ptrc_slot *s = &ptrc_stream_slots(h)[i];
	uint64_t none = 0;

	if (ptrc_load_relaxed(&s->owner) != 0 || !ptrc_cas(&s->owner, &none, owner))
		return false;
	/* A dead owner may have left its mark in the slot. */
	ptrc_store_relaxed(&s->frame, 0);
	ptrc_store_relaxed(&s->pid, pid);
	ptrc_store_release(&s->image, image);
	ptrc_add_relaxed(&h->threads, 1);
	return true;
}

uint32_t ptrc_slot_claim(const struct ptrc_pool *pool, int pid, int tid, uint64_t image,
			 uint64_t *owner)
{
	struct ptrc_stream_header *h = pool->header;
	uint32_t used;

	*owner = owner_word(tid);
	for (int attempt = 0; attempt < 2; attempt++) {
		used = ptrc_slots_used(h);
		for (uint32_t i = PTRC_SLOT_FIRST; i < used; i++)
			if (claim(h, i, pid, image, *owner))
				return i;
		if (attempt == 0 &&
		    (used == PTRC_SLOT_COUNT
			     ? !ptrc_slots_were_reaped(h)
			     : ptrc_slots_is_time_to_reap(used, used - PTRC_SLOT_FIRST)))
			ptrc_slots_reap(pool, pid, image, used == PTRC_SLOT_COUNT);
	}
	while (used < PTRC_SLOT_COUNT) {
		if (!ptrc_file_populate(&ptrc_stream_slots(h)[used], sizeof(struct ptrc_slot)))
			return UINT32_MAX;
		if (ptrc_cas(&h->slots_used, &used, used + 1))
			used++;
		if (used > 0 && used <= PTRC_SLOT_COUNT && claim(h, used - 1, pid, image, *owner))
			return used - 1;
	}
	return UINT32_MAX;
}
