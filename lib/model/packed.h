/* SPDX-License-Identifier: MIT */
/*
 * Packed events: the form in which a section, a part of a log's packet, holds the events of one
 * writer in the order of their times.
 *
 *   1 byte      code: 0 to 239 a shape that was defined before; 255: a definition follows
 *   [8 bytes    definition: address of the call (bits 0-47), id and flags (bits 48-63)
 *    varint]      1 + the length of the data; 0: the length varies
 *   varint      nanoseconds since the previous event; the first event: since the section's base
 *   [varint]    the length of the data, if it varies
 *   .           the data, unchanged
 *
 * A shape is what the events of one place in a program have in common: address, id, flags, and
 * the length of the data if it does not vary. Definition number n gets the code n % 240 and
 * replaces the shape that had this code before. Id and flags are those of a record (record.h),
 * without CONTEXT and FULLSTAMP. A varint has seven bits in each byte, the lowest first; all
 * bytes but the last have bit 7 set.
 *
 * The packer does not check its input: callers pass only valid events. The unpacker checks every
 * byte, because a log may be damaged.
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
/* The most bytes that a packed event takes in addition to its data: 1 for the code of the shape, 8
 * and up to 5 for its definition, 10 for the time, and 5 for the length. */
#define PTRC_PACKED_HEAD_MAX 29U
/* The packer copies data in units of 8 bytes, so it may write up to this many bytes after the end
 * of the packed events. */
#define PTRC_PACKED_SLACK 8U

/* The bytes that count towards log-max-size for an event with `len` bytes of data. This number does
 * not depend on how well the event is packed. */
static inline uint64_t ptrc_packed_counted(uint64_t len)
{
	return len + 8;
}

/* ---- packing ---- */

struct ptrc_packer_shape {
	uint64_t key; /* ptrc_packed_key(): address, id and flags */
	uint32_t len; /* length of the data of each event; if it varies, of the longest data */
	bool is_varying;
	uint32_t events;
	uint64_t bytes; /* sum of the lengths of the data; counted only if the length varies */
};

#define PTRC_PACKER_SLOTS 512U

struct ptrc_packer {
	uint8_t *begin, *out; /* start of the section; address for the next event */
	int64_t base_ns, last_ns;
	uint32_t defined; /* number of shapes defined so far */
	/* records, reported, counted (bytes that count towards log-max-size) and largest are valid
	 * after ptrc_packer_end(). */
	uint32_t records;
	uint32_t reported; /* records that are not HIDDEN, as readers report them */
	uint64_t counted;
	uint64_t largest; /* ptrc_packed_counted() of the largest event */
	/* A hash table from keys to shapes: for each hash, the codes of two shapes that may have
	 * the key. The table is never cleared and may name shapes of an earlier section, so each
	 * use checks that the shape really has the key. */
	uint8_t slots[PTRC_PACKER_SLOTS][2];
	struct ptrc_packer_shape shapes[PTRC_PACKED_SHAPES];
	struct ptrc_type_sums sums; /* valid after ptrc_packer_end() */
};

/* Starts a section of packed events at `out`. *p must be zeroed before it is used for the first
 * time. */
void ptrc_packer_begin(struct ptrc_packer *p, uint8_t *out);
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

/* Whether the shape with this code has this key and allows this length of data. */
static inline bool ptrc_packer_suits(const struct ptrc_packer *p, uint32_t code, uint64_t key,
				     uint32_t len)
{
	const struct ptrc_packer_shape *s = &p->shapes[code];

	return code < p->defined && s->key == key && (s->len == len || s->is_varying);
}

static inline bool ptrc_packer_is_empty(const struct ptrc_packer *p)
{
	return p->out == p->begin;
}

uint32_t ptrc_packer_find(struct ptrc_packer *p, uint64_t key, uint32_t len, bool *is_new);

/* Adds an event. If it is earlier than the previous event, which happens only in a damaged stream,
 * it gets the time of that event, because times in a section do not go back. The function may read
 * ptrc_align8(len) bytes of `data` and write PTRC_PACKED_HEAD_MAX + ptrc_align8(len) +
 * PTRC_PACKED_SLACK bytes at p->out. */
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
	if (PTRC_UNLIKELY(ns < p->last_ns))
		ns = p->last_ns;
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

/* Packs a single event as a section of its own, whose base time is the time of the event. Returns
 * the size of the section, at most PTRC_PACKED_HEAD_MAX + len. */
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
	int64_t ns; /* time of the previous event */
};

/* An event decoded from a section. `data` points into the bytes of the section and is valid as long
 * as these. */
struct ptrc_packed_event {
	int64_t ns;
	uint64_t addr;
	const uint8_t *data;
	uint32_t id_flags;
	uint32_t len;
};

/* The most shapes that a section (the packed events of one writer in a packet of a log) can have if
 * it has `bytes` bytes. The caller gives the unpacker memory for this number of shapes. */
static inline uint32_t ptrc_unpacker_shapes(uint64_t bytes)
{
	/* A definition with its event takes at least 11 bytes. */
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

/* Unpacks the next event. False: the section has ended, or the bytes are damaged. In the latter
 * case the unpacker does not advance past the damaged event. */
bool ptrc_unpacker_next(struct ptrc_unpacker *u, struct ptrc_packed_event *e);
/* Stores the length of the first event's data. The first PTRC_PACKED_HEAD_MAX bytes of the
 * section are enough for this. False: these bytes are not the start of an event. */
bool ptrc_unpacker_length(struct ptrc_unpacker *u, uint64_t *len);

#endif
