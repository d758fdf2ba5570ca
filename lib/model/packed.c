/* SPDX-License-Identifier: MIT */
#include "lib/model/packed.h"

/* ---- packing ---- */

void ptrc_packer_begin(struct ptrc_packer *p, uint8_t *out)
{
	p->begin = p->out = out;
	p->base_ns = p->last_ns = 0;
	p->counted = p->largest = 0;
	p->records = p->reported = p->defined = 0;
	p->sums.count = 0;
}

/* Adds the events of a shape (events with equal address, id and flags) to the section's sums by
 * event type. */
static void sum_up(struct ptrc_packer *p, const struct ptrc_packer_shape *shape)
{
	uint32_t id_flags = (uint32_t)(shape->key >> 48);
	uint64_t bytes = shape->is_varying ? shape->bytes : (uint64_t)shape->events * shape->len;

	if (!shape->events)
		return;
	p->records += shape->events;
	p->counted += shape->events * ptrc_packed_counted(0) + bytes;
	if (p->largest < ptrc_packed_counted(shape->len))
		p->largest = ptrc_packed_counted(shape->len);
	if (id_flags & PTRC_REC_HIDDEN)
		return;
	p->reported += shape->events;
	ptrc_type_sums_add(&p->sums,
			   &(struct ptrc_type_sum){
				   .id = id_flags & PTRC_REC_ID_MASK,
				   .events = shape->events,
				   .bytes = (uint32_t)bytes,
				   .truncated = id_flags & PTRC_REC_TRUNCATED ? shape->events : 0,
			   });
}

static uint32_t add_shape(struct ptrc_packer *p, uint64_t key, uint32_t len, bool is_varying)
{
	uint32_t code = p->defined++ % PTRC_PACKED_SHAPES;
	struct ptrc_packer_shape *shape = &p->shapes[code];
	uint8_t *slot = p->slots[ptrc_packer_slot(key)];

	if (p->defined > PTRC_PACKED_SHAPES)
		sum_up(p, shape);
	*shape = (struct ptrc_packer_shape){.key = key, .len = len, .is_varying = is_varying};
	slot[1] = slot[0];
	slot[0] = (uint8_t)code;
	*p->out++ = PTRC_PACKED_DEFINE;
	memcpy(p->out, &key, sizeof(key));
	p->out = ptrc_packed_put(p->out + sizeof(key), is_varying ? 0 : (uint64_t)len + 1);
	return code;
}

uint32_t ptrc_packer_find(struct ptrc_packer *p, uint64_t key, uint32_t len, bool *is_new)
{
	uint8_t *slot = p->slots[ptrc_packer_slot(key)];
	bool is_known = false;

	*is_new = false;
	for (int i = 0; i < 2; i++) {
		uint32_t code = slot[i];

		if (code >= p->defined || p->shapes[code].key != key)
			continue;
		if (ptrc_packer_suits(p, code, key, len)) {
			slot[i] = slot[0];
			slot[0] = (uint8_t)code;
			return code;
		}
		is_known = true;
	}
	*is_new = true;
	/* If the key has a shape (address, id, flags, length) with another length already
	 * (is_known), the new shape is one whose length varies. */
	return add_shape(p, key, len, is_known);
}

void ptrc_packer_end(struct ptrc_packer *p)
{
	for (uint32_t i = 0; i < p->defined && i < PTRC_PACKED_SHAPES; i++)
		sum_up(p, &p->shapes[i]);
}

uint32_t ptrc_packed_single(uint8_t *out, uint32_t id_flags, const void *data, uint32_t len)
{
	uint64_t key = ptrc_packed_key(0, id_flags);
	uint8_t *to = out;

	*to++ = PTRC_PACKED_DEFINE;
	memcpy(to, &key, sizeof(key));
	to = ptrc_packed_put(to + sizeof(key), (uint64_t)len + 1);
	*to++ = 0; /* time: 0 ns after the base of the section */
	if (len)
		memcpy(to, data, len);
	return (uint32_t)(to - out) + len;
}

/* ---- unpacking ---- */

/* Reads a varint. Returns the address after it. NULL: the varint is incomplete, or exceeds 64
 * bits. */
static const uint8_t *get(const uint8_t *pos, const uint8_t *end, uint64_t *value)
{
	*value = 0;
	for (uint32_t shift = 0; pos < end && shift < 64; shift += 7) {
		uint64_t bits = *pos & 0x7f;

		if (bits << shift >> shift != bits)
			return NULL;
		*value |= bits << shift;
		if (!(*pos++ & 0x80))
			return pos;
	}
	return NULL;
}

/* Reads the definition of a shape (address, id, flags and length of events) and stores it as the
 * shape with this code. Returns the address after the definition. NULL: the bytes are damaged. */
static const uint8_t *define(const struct ptrc_unpacker *u, const uint8_t *pos, uint32_t code)
{
	struct ptrc_unpacker_shape *shape = &u->shapes[code];
	uint64_t key, len;

	if ((size_t)(u->end - pos) < sizeof(key))
		return NULL;
	memcpy(&key, pos, sizeof(key));
	pos = get(pos + sizeof(key), u->end, &len);
	/* A definition without a time after it is damage. ptrc_unpacker_shapes() relies on this
	 * when it computes the memory for shapes. */
	if (!pos || pos == u->end || len > (uint64_t)PTRC_REC_LEN_MAX + 1)
		return NULL;
	*shape = (struct ptrc_unpacker_shape){
		.key = key, .len = len ? (uint32_t)(len - 1) : 0, .is_varying = len == 0};
	return pos;
}

/* Unpacks an event up to the start of its data, and returns this address; the data itself may be
 * cut off. NULL: the bytes are damaged. */
static const uint8_t *unpack_head(struct ptrc_unpacker *u, struct ptrc_packed_event *e,
				  uint32_t *defined)
{
	const struct ptrc_unpacker_shape *shape;
	const uint8_t *pos = u->pos;
	uint64_t delta, len;
	uint32_t code;

	*defined = u->defined;
	if (pos >= u->end)
		return NULL;
	code = *pos++;
	if (code == PTRC_PACKED_DEFINE) {
		code = (*defined)++ % PTRC_PACKED_SHAPES;
		pos = define(u, pos, code);
		if (!pos)
			return NULL;
	} else if (code >= *defined || code >= PTRC_PACKED_SHAPES) {
		return NULL;
	}
	shape = &u->shapes[code];
	if (pos < u->end && *pos < 0x80)
		delta = *pos++;
	else
		pos = get(pos, u->end, &delta);
	if (!pos || __builtin_add_overflow(u->ns, delta, &e->ns))
		return NULL;
	len = shape->len;
	if (shape->is_varying)
		pos = get(pos, u->end, &len);
	if (!pos || len > PTRC_REC_LEN_MAX)
		return NULL;
	e->id_flags = (uint32_t)(shape->key >> 48);
	/* The id of a CONTEXT record is damage, because that is no event; so is FULLSTAMP, because
	 * a packed event has no full stamp. */
	if ((e->id_flags & PTRC_REC_ID_MASK) == PTRC_REC_CONTEXT ||
	    (e->id_flags & PTRC_REC_FULLSTAMP))
		return NULL;
	e->addr = shape->key & PTRC_REC_ADDR_MASK;
	e->len = (uint32_t)len;
	return pos;
}

bool ptrc_unpacker_next(struct ptrc_unpacker *u, struct ptrc_packed_event *e)
{
	uint32_t defined;
	const uint8_t *pos = unpack_head(u, e, &defined);

	if (!pos || e->len > (size_t)(u->end - pos))
		return false;
	e->data = pos;
	u->defined = defined;
	u->ns = e->ns;
	u->pos = pos + e->len;
	return true;
}

bool ptrc_unpacker_length(struct ptrc_unpacker *u, uint64_t *len)
{
	struct ptrc_packed_event e;
	uint32_t defined;

	if (!unpack_head(u, &e, &defined))
		return false;
	*len = e.len;
	return true;
}
