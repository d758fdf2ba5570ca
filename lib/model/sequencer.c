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

bool ptrc_sequencer_learn(uint32_t id, const void *data, uint32_t len,
			  uint64_t filter[PTRC_SET_WORD_COUNT])
{
	trace_event_set_t set;

	if (!(id == POSIX_TRACE_START && len == sizeof(set)) &&
	    !(id == POSIX_TRACE_FILTER && len == 2 * sizeof(set)))
		return false;
	memcpy(&set, (const char *)data + len - sizeof(set), sizeof(set));
	ptrc_set_to_bits(&set, filter);
	return true;
}

bool ptrc_sequencer_admit(struct ptrc_sequencer *q, uint32_t id_flags, const void *data,
			  uint32_t len)
{
	uint32_t id = id_flags & PTRC_REC_ID_MASK;

	if (id == PTRC_REC_CONTEXT)
		return false;
	if (id == POSIX_TRACE_OVERFLOW || id == POSIX_TRACE_RESUME) {
		q->is_in_gap = id == POSIX_TRACE_OVERFLOW;
		q->is_known = false;
		return true;
	}
	if (ptrc_sequencer_learn(id, data, len, q->filter))
		q->is_known = true;
	else if (id > POSIX_TRACE_ERROR && ptrc_sequencer_drops(q, id))
		return false;
	return !q->is_in_gap && !(id_flags & PTRC_REC_HIDDEN);
}
