/* SPDX-License-Identifier: MIT */
/*
 * The rule that every reader, of a live stream or of a log, applies to events in the order of
 * their report: an event behind a FILTER event obeys the new set, one before it the old set. A
 * START or FILTER event that is filtered itself is recorded all the same, as a HIDDEN record,
 * so that a reader always knows the filter.
 *
 * While a filter changes, some writers still record by the old one and others already by the
 * new one. The line between them can only be drawn where all events stand in time order.
 */
#ifndef PTRC_LIB_MODEL_SEQUENCER_H
#define PTRC_LIB_MODEL_SEQUENCER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/model/eventset.h"

struct ptrc_sequencer {
	uint64_t filter[PTRC_SET_WORD_COUNT];
	/* False after a gap: no event is dropped until the next START or FILTER. */
	bool is_known;
	bool is_in_gap; /* between an OVERFLOW and its RESUME */
};

/* The filter is empty and known, as at the beginning of a stream. */
void ptrc_sequencer_reset(struct ptrc_sequencer *q);

/* Takes the filter that a START or FILTER event tells: the last set of its data. False: it is
 * no such event, and `filter` stays. */
bool ptrc_sequencer_learn(uint32_t id, const void *data, uint32_t len,
			  uint64_t filter[PTRC_SET_WORD_COUNT]);

/* Is this event type in the filter, as far as that is known? */
static inline bool ptrc_sequencer_drops(const struct ptrc_sequencer *q, uint32_t id)
{
	return q->is_known && id / 64 < PTRC_SET_WORD_COUNT && (q->filter[id / 64] >> id % 64 & 1);
}

/* Events are missing here, maybe a START or FILTER among them. */
void ptrc_sequencer_gap(struct ptrc_sequencer *q);

/* Is the event to be reported? id_flags, data and len are those of its record, which may be
 * damaged. A reader asks about the OVERFLOW and RESUME events that stand in a log, but not
 * about those that it makes up. Events between the two are dropped: a flush may have saved them
 * while others of the same time were overwritten, and reporting them would make several gaps of
 * one. */
bool ptrc_sequencer_admit(struct ptrc_sequencer *q, uint32_t id_flags, const void *data,
			  uint32_t len);

#endif
