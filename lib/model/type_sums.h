/* SPDX-License-Identifier: MIT */
/* Numbers of events, and sums of the bytes of their data, by event type. */
#ifndef PTRC_LIB_MODEL_TYPE_SUMS_H
#define PTRC_LIB_MODEL_TYPE_SUMS_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/model/record.h"

/* The events of one type. The EVENTS packets of a log contain this structure. */
struct ptrc_type_sum {
	uint32_t id;
	uint32_t events; /* without HIDDEN records */
	uint32_t bytes;	 /* bytes of their data */
	uint32_t truncated;
};
PTRC_ASSERT_SIZE(struct ptrc_type_sum, 16);

#define PTRC_TYPE_SUMS_MAX (PTRC_REC_ID_MASK + 1)

/* The sums of several types, in the order in which the types first appeared. */
struct ptrc_type_sums {
	uint32_t count;
	/* For each type the index of its element in sum[]. The array is never cleared, so each use
	 * checks that the index is below `count` and that the element is of this type. */
	uint16_t at[PTRC_TYPE_SUMS_MAX];
	struct ptrc_type_sum sum[PTRC_TYPE_SUMS_MAX];
};

/* The sum of this type. A new sum starts with 0 events. */
static inline struct ptrc_type_sum *ptrc_type_sums_of(struct ptrc_type_sums *s, uint32_t id)
{
	uint32_t at = s->at[id & PTRC_REC_ID_MASK];

	if (at >= s->count || s->sum[at].id != id) {
		at = s->count++;
		s->at[id & PTRC_REC_ID_MASK] = (uint16_t)at;
		s->sum[at] = (struct ptrc_type_sum){.id = id};
	}
	return &s->sum[at];
}

static inline void ptrc_type_sums_add(struct ptrc_type_sums *s, const struct ptrc_type_sum *more)
{
	struct ptrc_type_sum *sum = ptrc_type_sums_of(s, more->id);

	sum->events += more->events;
	sum->bytes += more->bytes;
	sum->truncated += more->truncated;
}

/* Adds an event with `len` bytes of data. */
static inline void ptrc_type_sums_count(struct ptrc_type_sums *s, uint32_t id_flags, uint32_t len)
{
	struct ptrc_type_sum *sum = ptrc_type_sums_of(s, id_flags & PTRC_REC_ID_MASK);

	sum->events++;
	sum->bytes += len;
	sum->truncated += (id_flags & PTRC_REC_TRUNCATED) != 0;
}

#endif
