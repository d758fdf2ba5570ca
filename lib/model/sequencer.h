/* SPDX-License-Identifier: MIT */
/*
 * The filter as readers apply it, of live streams and of logs, to events in the order of their
 * report: an event before a FILTER event obeys the old set, one after it the new set. A START or
 * FILTER event that is filtered itself is recorded as a HIDDEN record, so that readers always know
 * the filter.
 *
 * While a filter changes, some writers still record by the old one and others already by the new
 * one. Only where all events are in time order can a reader tell which set applies.
 */
#ifndef PTRC_LIB_MODEL_SEQUENCER_H
#define PTRC_LIB_MODEL_SEQUENCER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/eventset.h"

struct ptrc_sequencer {
	uint64_t filter[PTRC_SET_WORD_COUNT];
	/* False after a gap: no event is dropped until the next START or FILTER. */
	bool is_known;
	bool is_in_gap; /* between an OVERFLOW and its RESUME */
};

/* Starts with an empty, known filter, as at the start of a stream. */
void ptrc_sequencer_reset(struct ptrc_sequencer *q);

/* Copies the filter from a START or FILTER event: the last set in its data. False: it is another
 * event, or damaged. */
bool ptrc_sequencer_learn(uint32_t id, const void *data, uint32_t len,
			  uint64_t filter[PTRC_SET_WORD_COUNT]);

/* Whether the filter, as far as it is known, excludes this event type. */
static inline bool ptrc_sequencer_drops(const struct ptrc_sequencer *q, uint32_t id)
{
	return q->is_known && ptrc_bits_have(q->filter, id);
}

/* Events are missing here, possibly a START or FILTER. */
void ptrc_sequencer_gap(struct ptrc_sequencer *q);

/* Whether to report the event. id_flags, data and len are those of its record, which may be
 * damaged. Readers ask about OVERFLOW and RESUME events from a log, but not about those that
 * they make up. Events between the two are dropped: a flush may have saved them while others of
 * the same time were overwritten, and reporting them would split the gap. */
bool ptrc_sequencer_admit(struct ptrc_sequencer *q, uint32_t id_flags, const void *data,
			  uint32_t len);

#endif
