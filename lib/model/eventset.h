/* SPDX-License-Identifier: MIT */
/*
 * What a trace_event_set_t holds: a magic word, and a bit for each possible identifier of an
 * event type. The same bits without the magic word are the filter of a stream.
 */
#ifndef PTRC_LIB_MODEL_EVENTSET_H
#define PTRC_LIB_MODEL_EVENTSET_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "lib/base/common.h"

#define PTRC_SET_MAGIC 0x3154455354525450UL /* "PTRTSET1" */
#define PTRC_SET_WORD_COUNT 128U
#define PTRC_SET_WORD_BITS 64U

/* The identifiers that a set can hold: nine predefined ones and 8182 names. */
#define PTRC_SET_ID_MIN 1U
#define PTRC_SET_ID_MAX 8191U

PTRC_ASSERT_SIZE(trace_event_set_t, 8 + 8 * PTRC_SET_WORD_COUNT);
_Static_assert(sizeof(unsigned long) * 8 == PTRC_SET_WORD_BITS, "words of 64 bits");
_Static_assert(PTRC_SET_ID_MAX < PTRC_SET_WORD_COUNT * PTRC_SET_WORD_BITS, "all ids fit");

static inline bool ptrc_set_is_id(trace_event_id_t id)
{
	return id >= PTRC_SET_ID_MIN && id <= PTRC_SET_ID_MAX;
}

/* False for null, too. */
static inline bool ptrc_set_is_valid(const trace_event_set_t *set)
{
	return set && set->__posix_trace_magic == PTRC_SET_MAGIC;
}

static inline unsigned long ptrc_set_mask(trace_event_id_t id)
{
	return 1UL << id % PTRC_SET_WORD_BITS;
}

/* The next three expect a valid set and a valid identifier. */
static inline bool ptrc_set_has(const trace_event_set_t *set, trace_event_id_t id)
{
	return set->__posix_trace_bits[id / PTRC_SET_WORD_BITS] & ptrc_set_mask(id);
}

static inline void ptrc_set_add(trace_event_set_t *set, trace_event_id_t id)
{
	set->__posix_trace_bits[id / PTRC_SET_WORD_BITS] |= ptrc_set_mask(id);
}

static inline void ptrc_set_del(trace_event_set_t *set, trace_event_id_t id)
{
	set->__posix_trace_bits[id / PTRC_SET_WORD_BITS] &= ~ptrc_set_mask(id);
}

/* Makes a set with these bits of any storage. The next function does the reverse. */
static inline void ptrc_set_from_bits(trace_event_set_t *set,
				      const uint64_t bits[PTRC_SET_WORD_COUNT])
{
	set->__posix_trace_magic = PTRC_SET_MAGIC;
	for (unsigned int i = 0; i < PTRC_SET_WORD_COUNT; i++)
		set->__posix_trace_bits[i] = bits[i];
}

static inline void ptrc_set_to_bits(const trace_event_set_t *set,
				    uint64_t bits[PTRC_SET_WORD_COUNT])
{
	for (unsigned int i = 0; i < PTRC_SET_WORD_COUNT; i++)
		bits[i] = set->__posix_trace_bits[i];
}

#endif
