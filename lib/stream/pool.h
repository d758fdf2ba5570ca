/* SPDX-License-Identifier: MIT */
/* Access to the parts of a mapped stream object: slots, chunks, counts and clock entries. */
#ifndef PTRC_LIB_STREAM_POOL_H
#define PTRC_LIB_STREAM_POOL_H

#include <stdint.h>

#include "lib/base/atomic.h"
#include "lib/stream/stream_layout.h"

/*
 * A mapped stream object and its chunks. chunk_size and chunk_count are private copies, which
 * ptrc_stream_map() has checked. Any process of the user can change the numbers in the shared
 * header at any time; an index that was checked against those could lead out of the mapping.
 */
struct ptrc_pool {
	struct ptrc_stream_header *header;
	uint32_t chunk_size;
	uint32_t chunk_count; /* number of chunks for which the object has space */
};

static inline struct ptrc_type_counts *ptrc_stream_types(struct ptrc_stream_header *h)
{
	return (void *)((char *)h + PTRC_STREAM_TYPE_OFFSET);
}

static inline struct ptrc_clock_entry *ptrc_stream_clock(struct ptrc_stream_header *h)
{
	return (void *)((char *)h + PTRC_STREAM_CLOCK_OFFSET);
}

/* The list of patterns that this value of header.patterns puts in force. */
static inline struct ptrc_pattern_list *ptrc_stream_patterns(struct ptrc_stream_header *h,
							     uint32_t patterns)
{
	struct ptrc_pattern_list *lists = (void *)((char *)h + PTRC_STREAM_PATTERN_OFFSET);

	return &lists[patterns & PTRC_PATTERNS_LIST ? 1 : 0];
}

static inline struct ptrc_slot *ptrc_stream_slots(struct ptrc_stream_header *h)
{
	return (void *)((char *)h + PTRC_STREAM_SLOT_OFFSET);
}

static inline struct ptrc_chunk_ctl *ptrc_stream_ctl(struct ptrc_stream_header *h)
{
	return (void *)((char *)h + PTRC_STREAM_CHUNK_CTL_OFFSET);
}

static inline uint64_t ptrc_stream_chunk_offset(uint32_t chunk_count)
{
	uint64_t end = PTRC_STREAM_CHUNK_CTL_OFFSET + chunk_count * sizeof(struct ptrc_chunk_ctl);

	return (end + 4095) & ~UINT64_C(4095);
}

/* Chunk number `index`, which must be below pool->chunk_count. */
static inline struct ptrc_chunk *ptrc_pool_chunk(const struct ptrc_pool *pool, uint32_t index)
{
	return (void *)((char *)pool->header + ptrc_stream_chunk_offset(pool->chunk_count) +
			(uint64_t)index * pool->chunk_size);
}

static inline struct ptrc_chunk_ctl *ptrc_pool_ctl(const struct ptrc_pool *pool, uint32_t index)
{
	return &ptrc_stream_ctl(pool->header)[index];
}

/* The number of chunks that were ever in use. Chunks from this index on hold nothing. */
static inline uint32_t ptrc_pool_used(const struct ptrc_pool *pool)
{
	uint32_t used = ptrc_load_acquire(&pool->header->chunks_used);

	return used < pool->chunk_count ? used : pool->chunk_count;
}

/* Raises a shared word to `value`, if it is lower. */
static inline void ptrc_stream_raise(_Atomic uint64_t *word, uint64_t value)
{
	uint64_t seen = ptrc_load_relaxed(word);

	while (seen < value && !ptrc_cas(word, &seen, value))
		;
}

#endif
