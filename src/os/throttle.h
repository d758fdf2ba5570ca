/* SPDX-License-Identifier: MIT */
/* Estimates how many samples are missing because the kernel has throttled threads (stopped sampling them for a
 * time). */
#ifndef PTRC_SRC_OS_THROTTLE_H
#define PTRC_SRC_OS_THROTTLE_H

#include <stddef.h>
#include <stdint.h>

#include "src/os/perf_records.h"

/* The threads that are throttled now, and since what monotonic time (.ns). Starts zeroed. */
struct ptrc_os_throttle {
	struct ptrc_os_throttled {
		int32_t tid;
		uint32_t processor;
		int64_t ns;
	} * list;
	size_t count;
};

/* Takes a record of any kind. If it ends a period in which a thread was throttled, returns the number of
 * samples that are missing from the period, at `frequency` samples per second. */
uint64_t ptrc_os_throttle_take(struct ptrc_os_throttle *, const struct ptrc_perf_record *,
			       unsigned int frequency);
void ptrc_os_throttle_free(struct ptrc_os_throttle *);

#endif
