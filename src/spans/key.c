/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/key.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"
#include "src/fields/quantity.h"

void ptrc_key_begin(struct ptrc_key *k, size_t number)
{
	k->bytes = k->room;
	memcpy(k->bytes, &number, sizeof(number));
	k->size = sizeof(number);
}

static inline void add_bytes(struct ptrc_key *k, const void *bytes, size_t size)
{
	if (k->bytes != k->room || size > sizeof(k->room) - k->size) {
		unsigned char *grown = ptrc_cli_allocate(k->size + size);

		memcpy(grown, k->bytes, k->size);
		ptrc_key_free(k);
		k->bytes = grown;
	}
	if (size)
		memcpy(k->bytes + k->size, bytes, size);
	k->size += size;
}

/* A number or a text in JSON makes the same key as a field with that value, and bytes the same as the text of their
 * hexadecimal digits. */
static void add_settled(struct ptrc_key *k, struct ptrc_value v)
{
	PTRC_SCOPED_BUFFER b = PTRC_BUFFER_INIT;
	unsigned char kind = PTRC_VALUE_JSON;

	ptrc_value_settle(&v, &b);
	if (v.kind == PTRC_VALUE_JSON) {
		add_bytes(k, &kind, sizeof(kind));
		add_bytes(k, v.bytes, v.size);
	} else {
		ptrc_key_add(k, &v);
	}
}

/* The first byte of a number in a key: the kind of the number, combined with DURATION if it is a duration. */
enum number_kind { WHOLE = 'w', NEGATIVE = '-', FRACTION = 'f', DURATION = 0x80 };

static void add_number(struct ptrc_key *k, unsigned char kind, const void *bytes, size_t size)
{
	unsigned char number[1 + sizeof(ptrc_whole)] = {kind};

	memcpy(number + 1, bytes, size);
	add_bytes(k, number, 1 + size);
}

static void add_whole(struct ptrc_key *k, unsigned char kind, ptrc_whole whole)
{
	ptrc_whole size = whole < 0 ? -whole : whole;

	kind |= whole < 0 ? NEGATIVE : WHOLE;
	add_number(k, kind, &size, size > UINT64_MAX ? sizeof(size) : sizeof(uint64_t));
}

/* Adds a number with its unit to the key, so that 1 and 1.0 give the same key, and so do 5 us and 5000 ns. */
static void add_quantity(struct ptrc_key *k, struct ptrc_quantity q, enum ptrc_unit unit)
{
	unsigned char kind;
	double number;

	ptrc_quantity_take_unit(&q, unit);
	kind = q.dimension == PTRC_DIMENSION_DURATION ? DURATION : 0;
	/* A long double may be a whole number, even one that is too large for an integer of 64 bits. */
	if (!q.is_whole && fabsl(q.number) < 0x1p127L &&
	    (long double)(ptrc_whole)q.number == q.number)
		q = ptrc_quantity_whole(q.dimension, (ptrc_whole)q.number);
	if (q.is_whole) {
		add_whole(k, kind, q.whole);
		return;
	}
	number = isnan(q.number) ? (double)NAN : (double)q.number;
	add_number(k, kind | FRACTION, &number, sizeof(number));
}

void ptrc_key_add(struct ptrc_key *k, const struct ptrc_value *v)
{
	unsigned char kind = (unsigned char)v->kind;
	bool is_signed =
		v->kind == PTRC_VALUE_SIGNED || (v->kind == PTRC_VALUE_ENUM && v->is_signed);
	ptrc_whole whole;
	double f;

	switch (v->kind) {
	case PTRC_VALUE_BYTES:
	case PTRC_VALUE_JSON:
		add_settled(k, *v);
		return;
	case PTRC_VALUE_FLOAT:
	case PTRC_VALUE_DOUBLE:
		if (v->is_rounded && ptrc_quantity_read_whole(v->bytes, v->size, &whole)) {
			add_whole(k, 0, whole);
			return;
		}
		/* The 0.1 of a float must give the same key as the 0.1 of a double. */
		f = ptrc_value_shown_float(v);
		add_quantity(k, ptrc_quantity_number(PTRC_DIMENSION_NUMBER, f), v->unit);
		return;
	case PTRC_VALUE_SIGNED:
	case PTRC_VALUE_UNSIGNED:
	case PTRC_VALUE_HEX:
	case PTRC_VALUE_BOOL:
	/* An enum is treated as its number: two enums may have different names for one number. */
	case PTRC_VALUE_ENUM:
		if (__builtin_expect(ptrc_unit_ns(v->unit) != 0, 0))
			add_quantity(k,
				     ptrc_quantity_whole(PTRC_DIMENSION_NUMBER,
							 is_signed ? (ptrc_whole)v->i
								   : (ptrc_whole)v->u),
				     v->unit);
		else if (is_signed && v->i < 0)
			add_whole(k, 0, v->i);
		else
			add_number(k, WHOLE, &v->u, sizeof(v->u));
		return;
	default:
		break;
	}
	add_bytes(k, &kind, sizeof(kind));
	if (ptrc_value_has_bytes(v))
		add_bytes(k, v->bytes, v->size);
}

/* Adds the thread of the event to the key, and the number of the source, as each source has threads of its own. */
static void add_thread(struct ptrc_key *k, size_t source, const struct ptrc_view *view)
{
	const struct posix_trace_event_info *e = &view->reader->event;

	add_bytes(k, &source, sizeof(source));
	add_bytes(k, &e->posix_pid, sizeof(e->posix_pid));
	add_bytes(k, &e->posix_tid, sizeof(e->posix_tid));
	add_bytes(k, &e->posix_thread_id, sizeof(e->posix_thread_id));
}

bool ptrc_key_make(struct ptrc_key *k, size_t number, size_t source, struct ptrc_view *view,
		   const struct ptrc_field *by)
{
	struct ptrc_value v;

	ptrc_key_begin(k, number);
	if (!by) {
		add_thread(k, source, view);
		return true;
	}
	v = ptrc_view_value(view, by);
	if (ptrc_value_is_missing(&v) ||
	    (__builtin_expect(ptrc_view_is_cut(view), 0) && ptrc_view_has_lost(view, by)))
		return false;
	ptrc_key_add(k, &v);
	return true;
}

void ptrc_key_free(struct ptrc_key *k)
{
	if (k->bytes != k->room)
		free(k->bytes);
}
