/* SPDX-License-Identifier: MIT */
/*
 * Threads of which the kernel takes no samples for a moment, as there were too many: how many there would
 * have been.
 */
#ifndef PTRC_SRC_OS_THROTTLE_H
#define PTRC_SRC_OS_THROTTLE_H

#include <stddef.h>
#include <stdint.h>

#include "src/os/perf_records.h"

/* Starts zeroed. */
struct ptrc_os_throttle {
	struct ptrc_os_throttled {
		int32_t tid;
		uint32_t processor;
		int64_t ns;
	} * list;
	size_t count;
};

/* Takes a record; those that are not about this change nothing. Returns how many samples are missing up to
 * it, of so many a second. */
uint64_t ptrc_os_throttle_take(struct ptrc_os_throttle *, const struct ptrc_perf_record *,
			       unsigned int frequency);
void ptrc_os_throttle_free(struct ptrc_os_throttle *);

#endif
