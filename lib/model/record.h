/* SPDX-License-Identifier: MIT */
/*
 * A record: the form of an event in a chunk of a stream.
 *
 *   byte  0  u32  time since the base, a stamp in the header of the chunk, in counter ticks
 *         4  u16  event id (bits 0-12) and flags (bits 13-15)
 *         6  u16  data length, bits 0-15
 *         8  u64  address of the call (bits 0-47), data length bits 16-31 (48-63)
 *        16  u64  only with PTRC_REC_FULLSTAMP: the time itself, not relative
 *         .  data, padded with any bytes to a multiple of 8
 *
 * Records are aligned to 8 and follow one another without gaps. A CONTEXT record (id 0) is no
 * event: it says which process and thread recorded the events that follow (struct ptrc_context).
 * A CONTEXT record with a full stamp also makes that stamp the base of the records that follow. A
 * log packs events instead (packed.h), with the same ids and flags.
 */
#ifndef PTRC_LIB_MODEL_RECORD_H
#define PTRC_LIB_MODEL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct ptrc_record {
	uint32_t delta;
	uint16_t id_flags;
	uint16_t len_lo;
	uint64_t addr_len;
};
_Static_assert(sizeof(struct ptrc_record) == 16, "record header is 16 bytes");

#define PTRC_REC_ID_MASK 0x1fffU
/* Flag: 8 bytes of absolute time follow the header. */
#define PTRC_REC_FULLSTAMP 0x2000U
/* Flag: the data was truncated to max-data-size. */
#define PTRC_REC_TRUNCATED 0x4000U
/* Flag of a START or FILTER event that the filter excludes: readers take the new filter from its
 * data, but do not report the event. */
#define PTRC_REC_HIDDEN 0x8000U

/* Flag and id of a record that is no event: in it the controller describes a process, and the
 * keeper writes this into the log as a PROCESS packet. No other HIDDEN record has this id. */
#define PTRC_REC_PROCESS (PTRC_REC_HIDDEN | 9U)

/* The id of a CONTEXT record, which gives the origin of the events that follow. */
#define PTRC_REC_CONTEXT 0U

#define PTRC_REC_ADDR_MASK ((UINT64_C(1) << 48) - 1)
#define PTRC_REC_LEN_MAX UINT32_MAX

/* The origin of events: the data of a CONTEXT record. If all members are 0, the trace system
 * itself recorded the events. */
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

/* The length to store in a record with `bytes` bytes of data. For lengths that a record cannot
 * express it returns a length that does not fit in any chunk, so the event is lost. */
static inline uint32_t ptrc_record_len_of(uint64_t bytes)
{
	return bytes < PTRC_REC_LEN_MAX ? (uint32_t)bytes : PTRC_REC_LEN_MAX;
}

static inline uint64_t ptrc_record_addr(const struct ptrc_record *r)
{
	return r->addr_len & PTRC_REC_ADDR_MASK;
}

/* Bytes of the record before its data. */
static inline uint32_t ptrc_record_head(const struct ptrc_record *r)
{
	return r->id_flags & PTRC_REC_FULLSTAMP ? 24 : 16;
}

/* Bytes of the whole record. The sum has 64 bits, so that it does not overflow even if the length
 * is damaged. */
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
