/* SPDX-License-Identifier: MIT */
/*
 * What holds for events in report order, applied by every reader (live stream
 * and log alike): an event behind a FILTER obeys its new set, one before it the
 * old one (FILTER-13); START and FILTER that are filtered themselves travel as
 * HIDDEN records so that the filter in force is always known.
 *
 * Writers may record by the old or the new filter while a change is under way,
 * so only here, where all events stand in time order, can the line be drawn.
 */
#ifndef PTRC_LIB_MODEL_SEQUENCER_H
#define PTRC_LIB_MODEL_SEQUENCER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"

struct ptrc_sequencer {
	uint64_t filter[17];
	bool is_known; /* false after a gap: nothing is dropped until the next START or FILTER */
	bool is_in_gap; /* between an OVERFLOW and its RESUME */
};

/* Filter empty and known, as at the beginning of a stream. */
void ptrc_sequencer_reset(struct ptrc_sequencer *q);

/* Events may be missing from here on, START and FILTER among them. */
void ptrc_sequencer_gap(struct ptrc_sequencer *q);

/* True if the event is to be reported. id_flags as in the record; data is that of
 * the record (untrusted: len is checked). Events made up by the trace system
 * itself while reading must not be passed through here. Those in a log must: events flushed
 * while others of their time were being overwritten fall between OVERFLOW and RESUME, and are
 * dropped so that a gap is one clean gap. */
bool ptrc_sequencer_admit(struct ptrc_sequencer *q, uint32_t id_flags, const void *data,
			  uint32_t len);

#endif
