/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <posixtrace-log.h>
#include <stddef.h>
#include <string.h>

#include "lib/api/on_log.h"
#include "lib/base/common.h"
#include "lib/model/layout.h"

static const unsigned char kinds[] = {
	[PTRC_LAYOUT_UNSIGNED] = POSIXTRACE_FIELD_UNSIGNED,
	[PTRC_LAYOUT_SIGNED] = POSIXTRACE_FIELD_SIGNED,
	[PTRC_LAYOUT_HEX] = POSIXTRACE_FIELD_HEX,
	[PTRC_LAYOUT_FLOAT] = POSIXTRACE_FIELD_FLOAT,
	[PTRC_LAYOUT_BOOL] = POSIXTRACE_FIELD_BOOL,
	[PTRC_LAYOUT_CHARS] = POSIXTRACE_FIELD_TEXT,
	[PTRC_LAYOUT_STRING] = POSIXTRACE_FIELD_TEXT,
	[PTRC_LAYOUT_BYTES] = POSIXTRACE_FIELD_BYTES,
	[PTRC_LAYOUT_JSON] = POSIXTRACE_FIELD_JSON,
	[PTRC_LAYOUT_CODE] = POSIXTRACE_FIELD_CODE,
	[PTRC_LAYOUT_CALLER] = POSIXTRACE_FIELD_CALLER,
};

static void tell_number(const struct ptrc_layout_field *from, const char *data, unsigned int bit_at,
			struct posixtrace_field *f)
{
	uint64_t u = ptrc_layout_number_of(from, data, bit_at);
	float single;

	for (uint32_t i = 0; i < from->member_count && !f->pt_member; i++)
		if (from->members[i].value == u)
			f->pt_member = from->members[i].name;
	if (from->kind == PTRC_LAYOUT_SIGNED) {
		f->pt_signed = (int64_t)u;
	} else if (from->kind != PTRC_LAYOUT_FLOAT) {
		f->pt_unsigned = from->kind == PTRC_LAYOUT_BOOL ? u != 0 : u;
	} else if (from->item_size == sizeof(single)) {
		memcpy(&single, data, sizeof(single));
		f->pt_float = (double)single;
	} else {
		memcpy(&f->pt_float, data, sizeof(f->pt_float));
	}
}

/* Fills in *f for a field, or for one element of an array, whose value is the `size` bytes at
 * `data`. A bit field starts at bit bit_at of these bytes. */
static void tell(const struct ptrc_layout_field *from, const char *data, size_t size,
		 unsigned int bit_at, struct posixtrace_field *f)
{
	f->pt_name = from->name;
	f->pt_kind = kinds[from->kind];
	f->pt_unit = ptrc_unit_word(from->unit);
	f->pt_data = data;
	f->pt_length = size;
	if (f->pt_kind == POSIXTRACE_FIELD_TEXT)
		f->pt_length = strnlen(data, size);
	else if (f->pt_kind != POSIXTRACE_FIELD_BYTES && f->pt_kind != POSIXTRACE_FIELD_JSON)
		tell_number(from, data, bit_at, f);
}

/* Stores in *f the field, or element of an array, to which the pt_next_ members of *f point, and
 * advances these members to the next one. */
static int next(const struct ptrc_layout_fields *l, const char *data, size_t size,
		struct posixtrace_field *f)
{
	struct ptrc_layout_walk w = {.number = f->pt_next_field, .bits = f->pt_next_bit}, before;
	unsigned long index = f->pt_next_index;
	const struct ptrc_layout_field *from;

	if (w.number > l->count)
		return EINVAL;
	do {
		before = w;
		from = ptrc_layout_next(l, data, size, &w);
		/* The loop skips padding and arrays without elements. */
	} while (from && (from->kind == PTRC_LAYOUT_PADDING || (from->count && !w.size)));
	if (!from)
		return w.is_short || !ptrc_layout_ends(l, &w, size) ? EBADMSG : ENODATA;
	*f = (struct posixtrace_field){.pt_index = index};
	if (from->count)
		f->pt_count = w.size / from->item_size;
	if (index >= f->pt_count && index)
		return EINVAL;
	tell(from, data + w.at + index * from->item_size, from->count ? from->item_size : w.size,
	     w.bit_at, f);
	if (index + 1 < f->pt_count) {
		w = before;
		f->pt_next_index = index + 1;
	}
	f->pt_next_field = w.number;
	f->pt_next_bit = w.bits;
	return 0;
}

PTRC_PUBLIC int posixtrace_log_next_field(trace_id_t trid, const struct posixtrace_event *event,
					  struct posixtrace_field *field, size_t size)
{
	const struct ptrc_layout_fields *layout;
	struct posixtrace_field f = {0};
	int error;

	if (!event || !event->pt_data || !field ||
	    size < offsetof(struct posixtrace_field, pt_name))
		return EINVAL;
	error = PTRC_ON_LOG(trid, ptrc_log_stream_fields, event->pt_info.posix_event_id, &layout);
	if (error)
		return error;
	memcpy(&f, field, offsetof(struct posixtrace_field, pt_name));
	error = next(layout, event->pt_data, event->pt_size, &f);
	if (error)
		return error;
	f.pt_size = size < sizeof(f) ? size : sizeof(f);
	memcpy(field, &f, f.pt_size);
	return 0;
}
