/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/wake.h"

#include <limits.h>
#include <linux/futex.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"

void ptrc_stream_wake_readers(struct ptrc_stream_header *h)
{
	uint32_t ticket = ptrc_load_acquire(&h->waiters);

	atomic_fetch_add_explicit(&h->event_futex, 1, memory_order_release);
	ptrc_sys(SYS_futex, &h->event_futex, FUTEX_WAKE, INT_MAX, 0, 0, 0);
	/* Only after the wake, and only the ticket that was seen before it: if this
	 * process dies in between, the next event wakes the readers again; and a reader
	 * that went to sleep in the meantime has another ticket. */
	atomic_compare_exchange_strong_explicit(&h->waiters, &ticket, 0, memory_order_relaxed,
						memory_order_relaxed);
}

void ptrc_ring_keeper(struct ptrc_stream_header *h)
{
	if (atomic_exchange_explicit(&h->keeper_wake, 1, memory_order_acq_rel))
		return;
	atomic_fetch_add_explicit(&h->keeper_bell, 1, memory_order_release);
	ptrc_sys(SYS_futex, &h->keeper_bell, FUTEX_WAKE, 1, 0, 0, 0);
}
