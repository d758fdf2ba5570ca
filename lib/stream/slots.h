/* SPDX-License-Identifier: MIT */
/*
 * Slots: each writer of a stream has one, which identifies it and says whether it is at work. A
 * living thread that needs a slot or a chunk reaps those of dead threads first.
 */
#ifndef PTRC_LIB_STREAM_SLOTS_H
#define PTRC_LIB_STREAM_SLOTS_H

#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/stream/pool.h"

/* Claims a slot for the calling thread. Returns its index and sets *owner to the value that
 * marks the slot as the thread's; UINT32_MAX if all slots are taken or there is no memory for
 * another. `image` identifies the program that the process runs. */
uint32_t ptrc_slot_claim(const struct ptrc_pool *pool, int pid, int tid, uint64_t image,
			 uint64_t *owner);
/* Releases the slot if it is still the owner's. */
void ptrc_slot_release(struct ptrc_stream_header *h, uint32_t slot_index, uint64_t owner);
/* Seals the chunks of dead threads and frees their slots. If `pid` is not 0, threads of that
 * process that ran another program than `image` count as dead, because an exec ended them. If
 * another thread is reaping, a caller that waits reaps after it; another caller does nothing. */
void ptrc_slots_reap(const struct ptrc_pool *pool, int pid, uint64_t image, bool waits);

/* Whether slots were reaped so recently that a writer without room need not do it again: within
 * a millisecond for each 64 slots, which is about the time that it takes. */
bool ptrc_slots_were_reaped(const struct ptrc_stream_header *h);

/* Whether a table of `used` entries, `beyond` of them in addition to its first size, looks for
 * dead owners before it grows: each time that it has grown by about an eighth. With each entry,
 * the cost would be quadratic. */
static inline bool ptrc_slots_is_time_to_reap(uint32_t used, uint32_t beyond)
{
	uint32_t step = 1;

	while (step * 16 <= used)
		step *= 2;
	return beyond % step == 0;
}

/* The number of slots that were ever used: later ones are empty. */
static inline uint32_t ptrc_slots_used(const struct ptrc_stream_header *h)
{
	uint32_t used = ptrc_load_acquire(&h->slots_used);

	return used < PTRC_SLOT_COUNT ? used : PTRC_SLOT_COUNT;
}

/* The thread in the owner word of a slot or the reaper word of a stream. */
static inline int ptrc_slot_tid(uint64_t owner)
{
	return (int)(owner >> PTRC_SLOT_TID_SHIFT);
}

#endif
