/* SPDX-License-Identifier: MIT */
/*
 * The event types that a stream records: its filter, a set of types (posix_trace_set_filter), and
 * its patterns, which match names (posixtrace_set_patterns).
 *
 * A name is not compared with the patterns when it is registered. Its type is unjudged until the
 * name was compared with the patterns in force. A writer compares the name (patterns.h) and stores
 * the verdict before it records an event of an unjudged type; a controller does this when it is
 * asked for the filter. If a name is registered while the patterns change, the old patterns apply
 * to events recorded under the old control word, and the new patterns to events recorded under the
 * new one.
 */
#ifndef PTRC_LIB_STREAM_FILTER_H
#define PTRC_LIB_STREAM_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/eventset.h"
#include "lib/stream/pool.h"

enum ptrc_verdict {
	PTRC_RECORDED,
	PTRC_EXCLUDED,
	PTRC_UNJUDGED, /* the type's name must first be compared with the patterns */
};

/* The current verdict of filter and patterns on a type. A writer that must be certain reads the
 * control word before and after: each change of filter or patterns changes that word. */
enum ptrc_verdict ptrc_filter_verdict(const struct ptrc_stream_header *h, uint32_t id);
/* Whether the stream excludes events of this type. Returns false for a PTRC_UNJUDGED type; system
 * event types are never unjudged, because the controller judges them when it sets the patterns. */
static inline bool ptrc_stream_is_filtered(const struct ptrc_stream_header *h, uint32_t id)
{
	return ptrc_filter_verdict(h, id) == PTRC_EXCLUDED;
}

/* The verdict of the patterns alone; PTRC_RECORDED if there are no patterns. */
enum ptrc_verdict ptrc_filter_of_patterns(const struct ptrc_stream_header *h, uint32_t id);

/* Stores the filter as posix_trace_get_filter() reports it: the types that the filter excludes, and
 * the types that the patterns exclude, as far as their names were compared with the patterns. */
void ptrc_filter_told(const struct ptrc_stream_header *h, uint64_t bits[PTRC_SET_WORD_COUNT]);

/* A change of filter or patterns, prepared by the controller under its lock. */
struct ptrc_filter_change {
	uint64_t filter[PTRC_SET_WORD_COUNT];
	/* types for which only the filter decides from now on, not the patterns */
	uint64_t decided[PTRC_SET_WORD_COUNT];
	/* value of header.patterns after the change */
	uint32_t patterns;
	/* results of ptrc_filter_told() before and after the change */
	uint64_t old_told[PTRC_SET_WORD_COUNT];
	uint64_t new_told[PTRC_SET_WORD_COUNT];
	/* record a FILTER event even if old_told and new_told are equal */
	bool is_always_told;
};

/* The next value of header.patterns. is_other: the value selects the list of patterns that is not
 * in force now. is_on: there are patterns. */
uint32_t ptrc_filter_next_patterns(uint32_t patterns, bool is_other, bool is_on);

/* Stores the change in the header. Only ptrc_stream_change_filter() calls this; it then makes
 * writers use the new filter. */
void ptrc_filter_store(struct ptrc_stream_header *h, const struct ptrc_filter_change *change);
/* Empties the filter. The patterns stay; every name will be compared with them again. */
void ptrc_filter_clear(struct ptrc_stream_header *h);

#endif
