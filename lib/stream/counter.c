/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/counter.h"

#include <time.h>

#include "lib/base/atomic.h"
#include "lib/base/sys.h"

#if defined(__x86_64__)
static void cpuid(uint32_t leaf, uint32_t r[4])
{
	__asm__ volatile("cpuid"
			 : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
			 : "a"(leaf), "c"(0));
}
#endif

bool ptrc_counter_is_usable(void)
{
#if defined(__x86_64__)
	uint32_t r[4];

	/* "Invariant TSC": it has a constant rate and runs in every sleep state. */
	cpuid(0x80000000U, r);
	if (r[0] < 0x80000007U)
		return false;
	cpuid(0x80000007U, r);
	return (r[3] & (1U << 8)) != 0;
#else
	return true;		      /* the architecture guarantees it of cntvct_el0 */
#endif
}

int64_t ptrc_clock_ns(int clock_id)
{
	struct timespec ts = {0, 0};

#ifdef PTRC_FREESTANDING
	ptrc_sys(SYS_clock_gettime, clock_id, &ts);
#else
	clock_gettime(clock_id, &ts); /* the vdso's: no system call, async-signal-safe */
#endif
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t ptrc_stream_now(const struct ptrc_stream_header *h)
{
	if (ptrc_load_relaxed(&h->control) & PTRC_CTL_MONO)
		return (uint64_t)ptrc_clock_ns(CLOCK_MONOTONIC);
	return ptrc_counter();
}
