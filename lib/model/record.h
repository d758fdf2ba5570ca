/* SPDX-License-Identifier: MIT */
/*
 * An event record, as it stands in a chunk of a stream and in a log packet.
 *
 *   byte  0  u32  time: ticks (stream) or nanoseconds (log) since the run's base
 *         4  u16  event id (bits 0-10) and flags (bits 11-15)
 *         6  u16  data length, bits 0-15
 *         8  u64  address of the call (bits 0-47), data length bits 16-31 (48-63)
 *        16  u64  only with PTRC_REC_FULLSTAMP: the time itself, not relative
 *         .  data, padded with anything to a multiple of 8
 *
 * Records are 8-aligned and follow one another without gaps. A CONTEXT record
 * (id 0) is no event: it says whose events follow (struct ptrc_context). In a
 * stream one with a full stamp also moves the base of the deltas to that time;
 * a log has none of these, a drain begins a new run there.
 */
#ifndef PTRC_LIB_MODEL_RECORD_H
#define PTRC_LIB_MODEL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/common.h"

struct ptrc_record {
	uint32_t delta;
	uint16_t id_flags;
	uint16_t len_lo;
	uint64_t addr_len;
};
_Static_assert(sizeof(struct ptrc_record) == 16, "record header is 16 bytes");

#define PTRC_REC_ID_MASK 0x07ffU
#define PTRC_REC_FULLSTAMP 0x0800U /* 8 bytes of full time follow the header */
#define PTRC_REC_TRUNCATED 0x1000U /* data was cut to max-data-size */
#define PTRC_REC_HIDDEN \
	0x2000U /* START or FILTER that is filtered: tracked, not reported */
#define PTRC_REC_CONTEXT 0x4000U /* not an event: origin of those that follow */

#define PTRC_REC_ADDR_MASK ((UINT64_C(1) << 48) - 1)
#define PTRC_REC_LEN_MAX UINT32_MAX
#define PTRC_REC_ID_MAX (17U * 64 - 1) /* the last that a filter has a bit for */

/* Where events come from; data of a CONTEXT record. All zero: the trace system. */
struct ptrc_context {
	int32_t pid;
	int32_t tid;
	uint64_t thread; /* pthread_self() of the thread that recorded */
};
_Static_assert(sizeof(struct ptrc_context) == 16, "context is 16 bytes");

static inline uint64_t ptrc_align8(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

static inline uint32_t ptrc_record_id(const struct ptrc_record *r)
{
	return r->id_flags & PTRC_REC_ID_MASK;
}

static inline uint32_t ptrc_record_len(const struct ptrc_record *r)
{
	return (uint32_t)(r->addr_len >> 48) << 16 | r->len_lo;
}

/* More than a record can say is as much as none can hold, so that the event is lost. */
static inline uint32_t ptrc_record_len_of(uint64_t bytes)
{
	return bytes < PTRC_REC_LEN_MAX ? (uint32_t)bytes : PTRC_REC_LEN_MAX;
}

static inline uint64_t ptrc_record_addr(const struct ptrc_record *r)
{
	return r->addr_len & PTRC_REC_ADDR_MASK;
}

/* Bytes before the data. */
static inline uint32_t ptrc_record_head(const struct ptrc_record *r)
{
	return r->id_flags & PTRC_REC_FULLSTAMP ? 24 : 16;
}

/* Bytes of the whole record; 64 bits, as a damaged length must not wrap. */
static inline uint64_t ptrc_record_size(const struct ptrc_record *r)
{
	return ptrc_record_head(r) + ptrc_align8(ptrc_record_len(r));
}

static inline void ptrc_record_fill(struct ptrc_record *r, uint32_t delta,
				    uint32_t id_flags, uint32_t len, uint64_t addr)
{
	r->delta = delta;
	r->id_flags = (uint16_t)id_flags;
	r->len_lo = (uint16_t)len;
	r->addr_len = (addr & PTRC_REC_ADDR_MASK) | (uint64_t)(len >> 16) << 48;
}

#endif
