/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/model/sequencer.h"

#include <string.h>
#include <trace.h>

#include "lib/model/eventset.h"
#include "lib/model/record.h"

void ptrc_sequencer_reset(struct ptrc_sequencer *q)
{
	memset(q, 0, sizeof(*q));
	q->is_known = true;
}

void ptrc_sequencer_gap(struct ptrc_sequencer *q)
{
	q->is_known = false;
}

static void adopt(struct ptrc_sequencer *q, const void *set, uint32_t offset)
{
	trace_event_set_t copy;

	memcpy(&copy, (const char *)set + offset, sizeof(copy));
	memcpy(q->filter, copy.__posix_trace_bits, sizeof(q->filter));
	q->is_known = true;
}

bool ptrc_sequencer_admit(struct ptrc_sequencer *q, uint32_t id_flags, const void *data,
			  uint32_t len)
{
	uint32_t id = id_flags & PTRC_REC_ID_MASK;

	if (id_flags & PTRC_REC_CONTEXT)
		return false;
	if (id == POSIX_TRACE_OVERFLOW || id == POSIX_TRACE_RESUME) {
		q->is_in_gap = id == POSIX_TRACE_OVERFLOW;
		q->is_known = false;
		return true;
	}
	if (id == POSIX_TRACE_START && len == sizeof(trace_event_set_t))
		adopt(q, data, 0);
	else if (id == POSIX_TRACE_FILTER && len == 2 * sizeof(trace_event_set_t))
		adopt(q, data, sizeof(trace_event_set_t));
	else if (id > POSIX_TRACE_ERROR && q->is_known && id / 64 < 17 &&
		 (q->filter[id / 64] >> id % 64 & 1))
		return false;
	return !q->is_in_gap && !(id_flags & PTRC_REC_HIDDEN);
}
