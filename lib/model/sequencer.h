/* SPDX-License-Identifier: MIT */
/*
 * How readers of live streams and of logs apply the filter, a set of event types that are not
 * reported. They apply it to events in the order of time: the old set to an event before a FILTER
 * event, and the new set to an event after it. If START or FILTER events are themselves filtered
 * out, they are recorded as HIDDEN records, so that readers always know the filter.
 *
 * Readers must filter because, while the filter changes, some writers still use the old set and
 * others already the new one. Which set applies to an event is clear only when all events are in
 * the order of time.
 */
#ifndef PTRC_LIB_MODEL_SEQUENCER_H
#define PTRC_LIB_MODEL_SEQUENCER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/eventset.h"

struct ptrc_sequencer {
	uint64_t filter[PTRC_SET_WORD_COUNT];
	/* Whether `filter` is the filter in force. False after a gap: then the filter drops no
	 * event until the next START or FILTER event. */
	bool is_known;
	bool is_in_gap; /* between an OVERFLOW and its RESUME */
};

/* Sets the state at the start of a stream: the filter is known to be empty. */
void ptrc_sequencer_reset(struct ptrc_sequencer *q);

/* Copies the filter from a START or FILTER event: the last set in its data. False: the event is
 * of another type, or damaged. */
bool ptrc_sequencer_learn(uint32_t id, const void *data, uint32_t len,
			  uint64_t filter[PTRC_SET_WORD_COUNT]);

/* Whether the filter, as far as it is known, excludes this event type. */
static inline bool ptrc_sequencer_drops(const struct ptrc_sequencer *q, uint32_t id)
{
	return q->is_known && ptrc_bits_have(q->filter, id);
}

/* Notes that events are missing at this point. A START or FILTER may be among them, so the filter
 * is unknown. */
void ptrc_sequencer_gap(struct ptrc_sequencer *q);

/* Whether the reader is to report this event. id_flags, data and len are from its record, which
 * may be damaged. A reader calls this function for OVERFLOW and RESUME events from a log, but not
 * for those that it makes up itself. Events between an OVERFLOW and its RESUME are dropped: a
 * flush may have saved them while other events of the same time were overwritten, and reporting
 * them would split the gap into several. */
bool ptrc_sequencer_admit(struct ptrc_sequencer *q, uint32_t id_flags, const void *data,
			  uint32_t len);

#endif
