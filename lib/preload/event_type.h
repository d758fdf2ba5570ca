/* SPDX-License-Identifier: MIT */
/* The event types of the preloaded library, which are opened when their first event is recorded. */
#ifndef PTRC_LIB_PRELOAD_EVENT_TYPE_H
#define PTRC_LIB_PRELOAD_EVENT_TYPE_H

#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/base/common.h"

struct ptrc_event_type {
	const char *name;
	const char *layout;
	_Atomic uint32_t id; /* 0: not opened yet */
};

/* Opens the event type and returns its identifier. Several threads may do this at the same time;
 * all get the same identifier. If the program has given the name another layout, the events are
 * recorded as unnamed events, so that their data is not misread. If there is no memory, only this
 * event is recorded as unnamed: the next event tries again. Async-signal-safe. */
PTRC_COLD uint32_t ptrc_event_type_open(struct ptrc_event_type *);

static PTRC_ALWAYS_INLINE uint32_t ptrc_event_type_id(struct ptrc_event_type *t)
{
	uint32_t id = ptrc_load_relaxed(&t->id);

	return PTRC_LIKELY(id) ? id : ptrc_event_type_open(t);
}

#endif
