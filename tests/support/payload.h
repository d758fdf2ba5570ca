/* SPDX-License-Identifier: MIT */
/*
 * Event data that can be checked: the number of the writer, a sequence number, and bytes computed
 * from these two, so that a single wrong or missing byte is found.
 */
#ifndef TESTS_PAYLOAD_H
#define TESTS_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PAYLOAD_MIN 16U

struct payload_head {
	uint32_t writer;
	uint32_t seq;
	uint32_t len;
	uint32_t check;
};
_Static_assert(sizeof(struct payload_head) == PAYLOAD_MIN, "payload head");

static inline uint64_t payload_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

static inline uint32_t payload_check_word(uint32_t writer, uint32_t seq, uint32_t len)
{
	return (uint32_t)payload_mix((uint64_t)writer << 32 ^ seq ^ (uint64_t)len << 40);
}

/* Stores a payload of `len` bytes, at least PAYLOAD_MIN. Async-signal-safe. */
static inline void payload_fill(unsigned char *to, uint32_t len, uint32_t writer, uint32_t seq)
{
	struct payload_head head = {writer, seq, len, payload_check_word(writer, seq, len)};
	uint64_t state = payload_mix((uint64_t)seq << 32 | writer);

	memcpy(to, &head, sizeof(head));
	for (uint32_t at = PAYLOAD_MIN; at < len; at++) {
		if (at % 8 == 0)
			state = payload_mix(state + at);
		to[at] = (unsigned char)(state >> 8 * (at % 8));
	}
}

/* A length from PAYLOAD_MIN to max, computed from writer and sequence number. */
static inline uint32_t payload_len(uint32_t max, uint32_t writer, uint32_t seq)
{
	return PAYLOAD_MIN +
	       (uint32_t)(payload_mix((uint64_t)writer * 1000003 + seq) % (max - PAYLOAD_MIN + 1));
}

/* Whether these bytes are a complete payload. If so, stores its writer and sequence number. */
static inline bool payload_read(const unsigned char *from, size_t len, uint32_t *writer,
				uint32_t *seq)
{
	struct payload_head head;

	if (len < sizeof(head))
		return false;
	memcpy(&head, from, sizeof(head));
	if (head.len != len || head.check != payload_check_word(head.writer, head.seq, head.len))
		return false;
	uint64_t state = payload_mix((uint64_t)head.seq << 32 | head.writer);
	for (uint32_t at = PAYLOAD_MIN; at < head.len; at++) {
		if (at % 8 == 0)
			state = payload_mix(state + at);
		if (from[at] != (unsigned char)(state >> 8 * (at % 8)))
			return false;
	}
	*writer = head.writer;
	*seq = head.seq;
	return true;
}

#endif
