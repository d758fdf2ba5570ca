/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/model/eventset.h"

#include <errno.h>
#include <trace.h>

#include "lib/base/common.h"

PTRC_PUBLIC int posix_trace_eventset_add(trace_event_id_t event_id, trace_event_set_t *set)
{
	if (!ptrc_set_is_valid(set) || !ptrc_set_is_id(event_id))
		return EINVAL;
	ptrc_set_add(set, event_id);
	return 0;
}

PTRC_PUBLIC int posix_trace_eventset_del(trace_event_id_t event_id, trace_event_set_t *set)
{
	if (!ptrc_set_is_valid(set) || !ptrc_set_is_id(event_id))
		return EINVAL;
	ptrc_set_del(set, event_id);
	return 0;
}

PTRC_PUBLIC int posix_trace_eventset_empty(trace_event_set_t *set)
{
	static const uint64_t none[PTRC_SET_WORD_COUNT];

	if (!set)
		return EINVAL;
	ptrc_set_from_bits(set, none);
	return 0;
}

PTRC_PUBLIC int posix_trace_eventset_fill(trace_event_set_t *set, int what)
{
	uint64_t bits[PTRC_SET_WORD_COUNT] = {0};

	if (!set)
		return EINVAL;
	switch (what) {
	case POSIX_TRACE_WOPID_EVENTS:
		break; /* this system has no process-independent system events */
	case POSIX_TRACE_SYSTEM_EVENTS:
		for (trace_event_id_t id = POSIX_TRACE_START; id <= POSIX_TRACE_ERROR; id++)
			bits[0] |= UINT64_C(1) << id;
		break;
	case POSIX_TRACE_ALL_EVENTS:
		/* The set also contains the ids that no event type has yet, but not 0, which is no
		 * id. */
		for (unsigned int i = 0; i < PTRC_SET_WORD_COUNT; i++)
			bits[i] = UINT64_MAX;
		bits[0] &= ~UINT64_C(1);
		break;
	default:
		return EINVAL;
	}
	ptrc_set_from_bits(set, bits);
	return 0;
}

PTRC_PUBLIC int posix_trace_eventset_ismember(trace_event_id_t event_id,
					      const trace_event_set_t *restrict set,
					      int *restrict ismember)
{
	if (!ptrc_set_is_valid(set) || !ptrc_set_is_id(event_id) || !ismember)
		return EINVAL;
	*ismember = ptrc_set_has(set, event_id);
	return 0;
}
