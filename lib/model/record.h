/* SPDX-License-Identifier: MIT */
/*
 * A record: an event as it stands in a chunk of a stream and in a packet of a log.
 *
 *   byte  0  u32  time since a base: in a stream counter ticks, in a log nanoseconds
 *         4  u16  event id (bits 0-12) and flags (bits 13-15)
 *         6  u16  data length, bits 0-15
 *         8  u64  address of the call (bits 0-47), data length bits 16-31 (48-63)
 *        16  u64  only with PTRC_REC_FULLSTAMP: the time itself, not relative
 *         .  data, padded with any bytes to a multiple of 8
 *
 * Records are 8-aligned and follow one another without gaps. A CONTEXT record (id 0) is
 * no event: it says whose events follow (struct ptrc_context). In a stream a CONTEXT
 * record with a full stamp also moves the base of the following times to that stamp.
 * There are none of these in a log: a drain begins a new stretch at such a record.
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

#define PTRC_REC_ID_MASK 0x1fffU
/* 8 bytes of full time follow the header. */
#define PTRC_REC_FULLSTAMP 0x2000U
/* The data was cut to max-data-size. */
#define PTRC_REC_TRUNCATED 0x4000U
/* A START or FILTER that is filtered itself: readers learn the filter from it, but do not
 * report it. */
#define PTRC_REC_HIDDEN 0x8000U

/* Not an event either: what somebody has observed of a process, the payload of a PROCESS packet. A
 * HIDDEN record of an id of which there are no others. */
#define PTRC_REC_PROCESS (PTRC_REC_HIDDEN | 9U)

/* The id of a CONTEXT record: not an event, but the origin of those that follow. */
#define PTRC_REC_CONTEXT 0U

#define PTRC_REC_ADDR_MASK ((UINT64_C(1) << 48) - 1)
#define PTRC_REC_LEN_MAX UINT32_MAX

/* Where events come from: the data of a CONTEXT record. All zero is the trace system. */
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

static inline bool ptrc_record_is_context(const struct ptrc_record *r)
{
	return ptrc_record_id(r) == PTRC_REC_CONTEXT;
}

static inline bool ptrc_record_is_process(uint32_t id_flags)
{
	return (id_flags & (PTRC_REC_HIDDEN | PTRC_REC_ID_MASK)) == PTRC_REC_PROCESS;
}

static inline uint32_t ptrc_record_len(const struct ptrc_record *r)
{
	return (uint32_t)(r->addr_len >> 48) << 16 | r->len_lo;
}

/* The length to record for so many bytes. One that has no place in a record becomes a length
 * that no chunk has room for, so that the event is lost. */
static inline uint32_t ptrc_record_len_of(uint64_t bytes)
{
	return bytes < PTRC_REC_LEN_MAX ? (uint32_t)bytes : PTRC_REC_LEN_MAX;
}

static inline uint64_t ptrc_record_addr(const struct ptrc_record *r)
{
	return r->addr_len & PTRC_REC_ADDR_MASK;
}

/* The number of bytes before the data. */
static inline uint32_t ptrc_record_head(const struct ptrc_record *r)
{
	return r->id_flags & PTRC_REC_FULLSTAMP ? 24 : 16;
}

/* The number of bytes of the whole record. 64 bits, so that the sum does not wrap when the
 * length is damaged. */
static inline uint64_t ptrc_record_size(const struct ptrc_record *r)
{
	return ptrc_record_head(r) + ptrc_align8(ptrc_record_len(r));
}

static inline void ptrc_record_fill(struct ptrc_record *r, uint32_t delta, uint32_t id_flags,
				    uint32_t len, uint64_t addr)
{
	r->delta = delta;
	r->id_flags = (uint16_t)id_flags;
	r->len_lo = (uint16_t)len;
	r->addr_len = (addr & PTRC_REC_ADDR_MASK) | (uint64_t)(len >> 16) << 48;
}

#endif
