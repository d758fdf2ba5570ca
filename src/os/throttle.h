/* SPDX-License-Identifier: MIT */
/* Estimates how many samples are missing of threads that the kernel has throttled. */
#ifndef PTRC_SRC_OS_THROTTLE_H
#define PTRC_SRC_OS_THROTTLE_H

#include <stddef.h>
#include <stdint.h>

#include "src/os/perf_records.h"

/* The throttled threads, and since when. Starts zeroed. */
struct ptrc_os_throttle {
	struct ptrc_os_throttled {
		int32_t tid;
		uint32_t processor;
		int64_t ns;
	} * list;
	size_t count;
};

/* Takes a record of any kind. Returns the number of missing samples of a period that it ends, at `frequency`
 * samples per second. */
uint64_t ptrc_os_throttle_take(struct ptrc_os_throttle *, const struct ptrc_perf_record *,
			       unsigned int frequency);
void ptrc_os_throttle_free(struct ptrc_os_throttle *);

#endif
