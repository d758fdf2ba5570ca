/* SPDX-License-Identifier: MIT */
/* posix_trace_get_filter, _set_filter. */
#include "config.h"

#include <errno.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/control/controller.h"
#include "lib/life/life.h"
#include "lib/model/eventset.h"

static void load(const struct ptrc_controller *c, uint64_t bits[PTRC_SET_WORD_COUNT])
{
	for (unsigned int i = 0; i < PTRC_SET_WORD_COUNT; i++)
		bits[i] = ptrc_load_relaxed(&c->stream.header->filter[i]);
}

PTRC_PUBLIC int posix_trace_get_filter(trace_id_t id, trace_event_set_t *set)
{
	uint64_t bits[PTRC_SET_WORD_COUNT];
	int cancel;
	struct ptrc_controller *c = ptrc_controller_enter(id, &cancel);

	if (!c)
		return EINVAL;
	if (set) {
		/* The lock keeps out a change of the filter, in the middle of which the filter in
		 * the header is neither the old nor the new one. */
		pthread_mutex_lock(&c->lock);
		load(c, bits);
		pthread_mutex_unlock(&c->lock);
		ptrc_set_from_bits(set, bits);
	}
	ptrc_controller_leave(id, cancel);
	return set ? 0 : EINVAL;
}

PTRC_PUBLIC int posix_trace_set_filter(trace_id_t id, const trace_event_set_t *set, int how)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_context origin = ptrc_controller_origin();
	uint64_t bits[PTRC_SET_WORD_COUNT], given[PTRC_SET_WORD_COUNT];
	int cancel, error = 0;
	struct ptrc_controller *c = ptrc_controller_enter(id, &cancel);

	if (!c)
		return EINVAL;
	if (!ptrc_set_is_valid(set) ||
	    (how != POSIX_TRACE_SET_EVENTSET && how != POSIX_TRACE_ADD_EVENTSET &&
	     how != POSIX_TRACE_SUB_EVENTSET)) {
		error = EINVAL;
	} else {
		ptrc_set_to_bits(set, given);
		pthread_mutex_lock(&c->lock);
		load(c, bits);
		for (unsigned int i = 0; i < PTRC_SET_WORD_COUNT; i++)
			bits[i] = how == POSIX_TRACE_SET_EVENTSET   ? given[i]
				  : how == POSIX_TRACE_ADD_EVENTSET ? bits[i] | given[i]
								    : bits[i] & ~given[i];
		ptrc_stream_set_filter(&c->stream, bits, &origin, addr);
		pthread_mutex_unlock(&c->lock);
	}
	ptrc_controller_leave(id, cancel);
	return error;
}
