/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/os/throttle.h"

#include <stdlib.h>

#include "src/base/message.h"

/* The longest interval of the kernel's clock tick. The kernel unthrottles a thread at the next tick while the
 * thread runs. So if a thread was throttled for longer, it did not run for the rest of the time. */
#define TICK_NS INT64_C(10000000)
#define NS_PER_S UINT64_C(1000000000)

uint64_t ptrc_os_throttle_take(struct ptrc_os_throttle *t, const struct ptrc_perf_record *r,
			       unsigned int frequency)
{
	uint64_t missing = 0;

	if (r->kind == PTRC_PERF_THROTTLE)
		*ptrc_append(t->list, t->count) = (struct ptrc_os_throttled){
			.tid = r->tid, .processor = r->processor, .ns = r->ns};
	if (r->kind != PTRC_PERF_UNTHROTTLE && r->kind != PTRC_PERF_EXIT)
		return 0;
	for (size_t i = t->count; i; i--) {
		struct ptrc_os_throttled *one = &t->list[i - 1];
		uint64_t ns = r->ns > one->ns ? (uint64_t)r->ns - (uint64_t)one->ns : 0;

		/* The end of a thread ends its throttling on all processors; UNTHROTTLE ends it on one. */
		if (one->tid != r->tid ||
		    (r->kind != PTRC_PERF_EXIT && one->processor != r->processor))
			continue;
		*one = t->list[--t->count];
		missing += 1 + (ns < TICK_NS ? ns : TICK_NS) * frequency / NS_PER_S;
	}
	return missing;
}

void ptrc_os_throttle_free(struct ptrc_os_throttle *t)
{
	free(t->list);
}
