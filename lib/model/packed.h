/* SPDX-License-Identifier: MIT */
/*
 * Packed events: how a section of a log holds the events of one writer, which are in the order
 * of their times.
 *
 *   1 byte      code: 0 to 239 a shape that was defined before; 255: a definition follows
 *   [8 bytes    definition: address of the call (bits 0-47), id and flags (bits 48-63)
 *    varint]      1 + the length of the data; 0: the length varies
 *   varint      nanoseconds since the event before; the first event: since the section's base
 *   [varint]    the length of the data, if that varies
 *   .           the data, as they were given
 *
 * A shape is what events of one place in a program have in common. Definition number n gets the
 * code n % 240, and what had that code is forgotten. Id and flags are those of a record
 * (record.h); a CONTEXT or a full stamp does not occur. A varint has seven bits in each byte, the
 * lowest first; all bytes but the last have bit 7 set.
 *
 * Packing is for events that a writer's chunk has, and does not look at what it is given. The
 * unpacker trusts no byte.
 */
#ifndef PTRC_LIB_MODEL_PACKED_H
#define PTRC_LIB_MODEL_PACKED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/common.h"
#include "lib/model/record.h"
#include "lib/model/type_sums.h"

#define PTRC_PACKED_SHAPES 240U
#define PTRC_PACKED_DEFINE 255U
/* What an event takes at most beside its data: a code, a definition of 8 bytes and a length of up
 * to 5, a time of 10, a length of 5. */
#define PTRC_PACKED_HEAD_MAX 29U
/* Bytes behind the end of the packed events that a packer may write to. */
#define PTRC_PACKED_SLACK 8U

/* log-max-size counts an event as so many bytes, wherever and beside whatever it stands. */
static inline uint64_t ptrc_packed_counted(uint64_t len)
{
	return len + 8;
}

/* ---- packing ---- */

struct ptrc_packer_shape {
	uint64_t key;
	uint32_t len; /* of the data of each event; if it varies, of the longest */
	bool is_varying;
	uint32_t events;
	uint64_t bytes; /* of data; only kept if their length varies */
};

#define PTRC_PACKER_SLOTS 512U

struct ptrc_packer {
	uint8_t *begin, *out; /* of the section; where the next event goes */
	int64_t base_ns, last_ns;
	uint32_t defined; /* definitions up to now */
	/* The next four are complete behind ptrc_packer_end(). */
	uint32_t records;
	uint32_t reported; /* those of them that are not HIDDEN */
	uint64_t counted;
	uint64_t largest; /* counted bytes of the largest event */
	/* By a hash of the key: two codes that may be the key's. Never cleared, so a code only counts
	 * if its shape has this key. */
	uint8_t slots[PTRC_PACKER_SLOTS][2];
	struct ptrc_packer_shape shapes[PTRC_PACKED_SHAPES];
	struct ptrc_type_sums sums; /* complete behind ptrc_packer_end() */
};

/* Begins a section, for which `out` has room. `p` was all zero before its first use. */
void ptrc_packer_begin(struct ptrc_packer *p, uint8_t *out);
/* Ends the section: sums up its events. */
void ptrc_packer_end(struct ptrc_packer *p);

static inline uint64_t ptrc_packed_key(uint64_t addr, uint32_t id_flags)
{
	return (addr & PTRC_REC_ADDR_MASK) | (uint64_t)(id_flags & ~PTRC_REC_FULLSTAMP) << 48;
}

static inline uint8_t *ptrc_packed_put(uint8_t *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*out++ = (uint8_t)(value | 0x80);
	*out++ = (uint8_t)value;
	return out;
}

static inline uint32_t ptrc_packer_slot(uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 55);
}

/* Is this the code of a shape for the key, and for data of this length? */
static inline bool ptrc_packer_suits(const struct ptrc_packer *p, uint32_t code, uint64_t key,
				     uint32_t len)
{
	const struct ptrc_packer_shape *s = &p->shapes[code];

	return code < p->defined && s->key == key && (s->len == len || s->is_varying);
}

/* Is there no event in the section? */
static inline bool ptrc_packer_is_empty(const struct ptrc_packer *p)
{
	return p->out == p->begin;
}

uint32_t ptrc_packer_find(struct ptrc_packer *p, uint64_t key, uint32_t len, bool *is_new);

/* Adds an event that is not earlier than the one before. Of the data ptrc_align8(len) bytes can be
 * read; there is room for PTRC_PACKED_HEAD_MAX + ptrc_align8(len) bytes, and PTRC_PACKED_SLACK. */
static PTRC_ALWAYS_INLINE void ptrc_packer_add(struct ptrc_packer *p, int64_t ns, uint64_t key,
					       const uint8_t *data, uint32_t len)
{
	uint32_t code = p->slots[ptrc_packer_slot(key)][0];
	struct ptrc_packer_shape *shape;
	bool is_new = false;
	uint64_t delta;
	uint8_t *out;

	if (PTRC_UNLIKELY(ptrc_packer_is_empty(p)))
		p->base_ns = p->last_ns = ns;
	if (PTRC_UNLIKELY(!ptrc_packer_suits(p, code, key, len)))
		code = ptrc_packer_find(p, key, len, &is_new);
	delta = (uint64_t)ns - (uint64_t)p->last_ns;
	p->last_ns = ns;
	shape = &p->shapes[code];
	shape->events++;
	out = p->out;
	if (PTRC_LIKELY(!is_new))
		*out++ = (uint8_t)code;
	out = ptrc_packed_put(out, delta);
	if (shape->is_varying) {
		out = ptrc_packed_put(out, len);
		shape->bytes += len;
		if (shape->len < len)
			shape->len = len;
	}
	p->out = out + len;
	if (len <= 64) {
		for (uint32_t i = 0; i < len; i += 8)
			memcpy(out + i, data + i, 8);
	} else {
		memcpy(out, data, len);
	}
}

/* Packs one event, the only one of its section and of its time, without a packer. Returns its size,
 * at most PTRC_PACKED_HEAD_MAX + len. */
uint32_t ptrc_packed_single(uint8_t *out, uint32_t id_flags, const void *data, uint32_t len);

/* ---- unpacking ---- */

struct ptrc_unpacker_shape {
	uint64_t key;
	uint32_t len;
	bool is_varying;
};

struct ptrc_unpacker {
	const uint8_t *pos, *end;
	struct ptrc_unpacker_shape *shapes;
	uint32_t defined;
	int64_t ns; /* of the event before */
};

/* An event of a section; its data stand there. */
struct ptrc_packed_event {
	int64_t ns;
	uint64_t addr;
	const uint8_t *data;
	uint32_t id_flags;
	uint32_t len;
};

/* How many shapes a section of so many bytes can have: the unpacker needs memory for them. */
static inline uint32_t ptrc_unpacker_shapes(uint64_t bytes)
{
	/* A definition with its event takes 11 bytes. */
	return bytes / 11 < PTRC_PACKED_SHAPES ? (uint32_t)(bytes / 11) : PTRC_PACKED_SHAPES;
}

static inline struct ptrc_unpacker ptrc_unpacker_begin(const uint8_t *bytes, uint64_t count,
						       int64_t base_ns,
						       struct ptrc_unpacker_shape *shapes)
{
	return (struct ptrc_unpacker){
		.pos = bytes, .end = bytes + count, .shapes = shapes, .ns = base_ns};
}

static inline bool ptrc_unpacker_is_at_end(const struct ptrc_unpacker *u)
{
	return u->pos == u->end;
}

/* The next event. False at the end, and where the bytes are none: then the unpacker is not at the
 * end, and stays where it is. */
bool ptrc_unpacker_next(struct ptrc_unpacker *u, struct ptrc_packed_event *e);
/* The length of the data of the first event, of whose section only the first PTRC_PACKED_HEAD_MAX
 * bytes need be there. False: no event begins so. */
bool ptrc_unpacker_length(struct ptrc_unpacker *u, uint64_t *len);

#endif
