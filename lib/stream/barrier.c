/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/barrier.h"

#include <linux/membarrier.h>
#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"
#include "lib/stream/counter.h"
#include "lib/stream/pool.h"

/* Without membarrier: wait for a marked event call 100 ms at most, since a dead or
 * stopped writer must not hold up a controller; and a second in all, since damaged memory
 * may show any number of marks. */
#define WAIT_TRIES 1000
#define WAIT_TRIES_MAX 10000
#define WAIT_PAUSE_NS 100000

bool ptrc_barrier_register(void)
{
	return ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0) == 0;
}

bool ptrc_barrier_is_available(void)
{
	long commands = ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0);

	return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
}

/* Writers of this stream fence between their mark and their look at the control word.
 * After our own fence, an event call either sees what we stored or has a mark that we
 * see. Wait until the calls with a mark are done, as they may have looked before. */
static void wait_for_marked(struct ptrc_stream_header *h)
{
	uint32_t used = ptrc_load_acquire(&h->slots_used);
	struct ptrc_slot *slots = ptrc_stream_slots(h);
	int all_tries = 0;

	for (uint32_t i = 0; i < used && i < PTRC_SLOT_COUNT; i++)
		for (int tries = 0; tries < WAIT_TRIES && all_tries < WAIT_TRIES_MAX; tries++) {
			struct timespec pause = {.tv_nsec = WAIT_PAUSE_NS};

			if (ptrc_load_acquire(&slots[i].frame) == 0)
				break;
			ptrc_sys(SYS_nanosleep, &pause, 0);
			all_tries++;
		}
}

void ptrc_barrier(struct ptrc_stream_header *h)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (ptrc_load_relaxed(&h->control) & PTRC_CTL_FENCE) {
		ptrc_counter_fence();
		wait_for_marked(h);
		return;
	}
	if (ptrc_load_relaxed(&h->needs_global_barrier) &&
	    ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0) == 0)
		return;
	ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
}
