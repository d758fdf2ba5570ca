/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/barrier.h"

#include <linux/membarrier.h>
#include <stdatomic.h>

#include "lib/sys.h"

bool ptrc_barrier_register(void)
{
	return ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0) == 0;
}

bool ptrc_barrier_is_available(void)
{
	long commands = ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0);

	return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0;
}

void ptrc_barrier(struct ptrc_stream_header *h)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&h->needs_global_barrier, memory_order_relaxed) &&
	    ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0) == 0)
		return;
	ptrc_sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0);
}
