/* SPDX-License-Identifier: MIT */
/*
 * The contents of a trace_event_set_t: a magic word, and a bit for each event type identifier. The
 * filter of a stream has the same bits without the magic word.
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

/* Identifiers 1 to 9 are predefined; the other 8182 are those of registered names. */
#define PTRC_SET_ID_MIN 1U
#define PTRC_SET_ID_MAX 8191U

PTRC_ASSERT_SIZE(trace_event_set_t, 8 + 8 * PTRC_SET_WORD_COUNT);
_Static_assert(sizeof(unsigned long) * 8 == PTRC_SET_WORD_BITS, "words of 64 bits");
_Static_assert(PTRC_SET_ID_MAX < PTRC_SET_WORD_COUNT * PTRC_SET_WORD_BITS, "all ids fit");

static inline bool ptrc_set_is_id(trace_event_id_t id)
{
	return id >= PTRC_SET_ID_MIN && id <= PTRC_SET_ID_MAX;
}

static inline bool ptrc_set_is_valid(const trace_event_set_t *set)
{
	return set && set->__posix_trace_magic == PTRC_SET_MAGIC;
}

/* Whether a set without a magic word, only bits, contains the identifier `id`, which must be
 * valid. */
static inline bool ptrc_bits_have(const uint64_t *bits, uint32_t id)
{
	return bits[id / PTRC_SET_WORD_BITS] >> id % PTRC_SET_WORD_BITS & 1;
}

static inline void ptrc_bits_add(uint64_t *bits, uint32_t id)
{
	bits[id / PTRC_SET_WORD_BITS] |= UINT64_C(1) << id % PTRC_SET_WORD_BITS;
}

/* ptrc_set_has(), ptrc_set_add() and ptrc_set_del() require a valid set and a valid identifier. */
static inline bool ptrc_set_has(const trace_event_set_t *set, trace_event_id_t id)
{
	return ptrc_bits_have(set->__posix_trace_bits, id);
}

static inline void ptrc_set_add(trace_event_set_t *set, trace_event_id_t id)
{
	ptrc_bits_add(set->__posix_trace_bits, id);
}

static inline void ptrc_set_del(trace_event_set_t *set, trace_event_id_t id)
{
	set->__posix_trace_bits[id / PTRC_SET_WORD_BITS] &= ~(1UL << id % PTRC_SET_WORD_BITS);
}

/* Initialises the set: its magic word and these bits. */
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
