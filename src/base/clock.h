/* SPDX-License-Identifier: MIT */
/* The clock for timeouts and intervals. */
#ifndef PTRC_SRC_BASE_CLOCK_H
#define PTRC_SRC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define PTRC_NS_PER_MS INT64_C(1000000)

/* Returns the time of CLOCK_MONOTONIC, which setting the system's clock does not change, in nanoseconds. */
static inline int64_t ptrc_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

#endif
