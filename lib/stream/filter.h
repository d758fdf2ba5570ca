/* SPDX-License-Identifier: MIT */
/*
 * Which event types a stream records: its filter, which is a set of types
 * (posix_trace_set_filter), and its patterns, which speak of names (posixtrace_set_patterns).
 *
 * A name needs nothing when it is made. A type of which the patterns in force have no verdict yet
 * is not recorded, so whoever is to record one compares its name first (patterns.h) and notes the
 * verdict; so does a controller that asks for the filter. A name that is made at the same moment
 * as patterns change is therefore judged by the old ones for events recorded under the old control
 * word, and by the new ones from then on.
 */
#ifndef PTRC_LIB_STREAM_FILTER_H
#define PTRC_LIB_STREAM_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/model/eventset.h"
#include "lib/stream/pool.h"

/* What becomes of the events of a type. */
enum ptrc_verdict {
	PTRC_RECORDED,
	PTRC_EXCLUDED,
	PTRC_UNJUDGED, /* its name must be compared with the patterns first */
};

/* What filter and patterns say of a type at this moment. A writer that must know for certain reads
 * the control word before and after: a change of filter or patterns comes with a new word. */
enum ptrc_verdict ptrc_filter_verdict(const struct ptrc_stream_header *h, uint32_t id);
/* The same for system event types, which are never unjudged. */
static inline bool ptrc_stream_is_filtered(const struct ptrc_stream_header *h, uint32_t id)
{
	return ptrc_filter_verdict(h, id) == PTRC_EXCLUDED;
}

/* What the patterns alone say; PTRC_RECORDED if there are none. */
enum ptrc_verdict ptrc_filter_of_patterns(const struct ptrc_stream_header *h, uint32_t id);

/* The types that the filter or the patterns keep out, as far as these have been compared with
 * their names: the filter that a program is told of. */
void ptrc_filter_told(const struct ptrc_stream_header *h, uint64_t bits[PTRC_SET_WORD_COUNT]);

/* A change of filter or patterns, made ready by the controller under its lock. */
struct ptrc_filter_change {
	uint64_t filter[PTRC_SET_WORD_COUNT];
	/* Types of which the filter alone decides from now on. */
	uint64_t decided[PTRC_SET_WORD_COUNT];
	/* The patterns that are to be in force. */
	uint32_t patterns;
	/* What ptrc_filter_told() says before and after. */
	uint64_t old_told[PTRC_SET_WORD_COUNT];
	uint64_t new_told[PTRC_SET_WORD_COUNT];
	/* A FILTER event is recorded even if the last two are the same. */
	bool is_always_told;
};

/* The next value of header.patterns for the same list, or, with is_other, for the other one. */
uint32_t ptrc_filter_next_patterns(uint32_t patterns, bool is_other, bool is_on);

/* Stores the change. ptrc_stream_change_filter() calls it, and makes writers look. */
void ptrc_filter_store(struct ptrc_stream_header *h, const struct ptrc_filter_change *change);
/* Empties the filter; the patterns stay, and judge all names anew. */
void ptrc_filter_clear(struct ptrc_stream_header *h);

#endif
