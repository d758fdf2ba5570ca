/* SPDX-License-Identifier: MIT */
/* The clock for timeouts. */
#ifndef PTRC_SRC_BASE_CLOCK_H
#define PTRC_SRC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define PTRC_NS_PER_MS INT64_C(1000000)

/* The time of CLOCK_MONOTONIC in nanoseconds. It does not change when the system's clock is set. */
static inline int64_t ptrc_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

#endif
