/* SPDX-License-Identifier: MIT */
/*
 * Slots: each writer of a stream has a slot, which identifies it and says whether an event call is
 * under way. To reap is to take back the slots and chunks of dead threads; a thread that finds no
 * free slot or chunk does this.
 */
#ifndef PTRC_LIB_STREAM_SLOTS_H
#define PTRC_LIB_STREAM_SLOTS_H

#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/stream/pool.h"

/* Claims a slot, a writer's entry in the stream, for the calling thread. Returns the index of the
 * slot, and sets *owner to the value of its owner word while it belongs to this thread. Returns
 * UINT32_MAX if all slots are taken or there is no memory for another slot. `image` identifies the
 * program that the process runs. */
uint32_t ptrc_slot_claim(const struct ptrc_pool *pool, int pid, int tid, uint64_t image,
			 uint64_t *owner);
/* Releases the slot if its owner word is still `owner`. */
void ptrc_slot_release(struct ptrc_stream_header *h, uint32_t slot_index, uint64_t owner);
/* Seals the chunks of dead threads and frees their slots. If `pid` is not 0, threads of that
 * process that ran a program other than `image` count as dead, because an exec has ended them. If
 * another thread is reaping, waits some milliseconds for its turn (`waits`) or does nothing. */
void ptrc_slots_reap(const struct ptrc_pool *pool, int pid, uint64_t image, bool waits);

/* Whether slots of dead threads were taken back (reaped) so recently that a writer without room
 * need not do it again: in the last slots_used / 64 milliseconds, about the time that one reaping
 * takes. */
bool ptrc_slots_were_reaped(const struct ptrc_stream_header *h);

/* Whether to look for entries of dead threads before a table (of slots or chunks) grows. The table
 * has `used` entries, which is `beyond` entries more than its first size. True each time that the
 * table has grown by about an eighth; a look before each new entry would make the cost
 * quadratic. */
static inline bool ptrc_slots_is_time_to_reap(uint32_t used, uint32_t beyond)
{
	uint32_t step = 1;

	while (step * 16 <= used)
		step *= 2;
	return beyond % step == 0;
}

/* The number of slots that were ever used. Slots from this index on are empty. */
static inline uint32_t ptrc_slots_used(const struct ptrc_stream_header *h)
{
	uint32_t used = ptrc_load_acquire(&h->slots_used);

	return used < PTRC_SLOT_COUNT ? used : PTRC_SLOT_COUNT;
}

/* The thread ID in the owner word of a slot, or in the reaper word of a stream. */
static inline int ptrc_slot_tid(uint64_t owner)
{
	return (int)(owner >> PTRC_SLOT_TID_SHIFT);
}

#endif
