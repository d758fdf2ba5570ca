/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/label.h"

/* A label is a name: of a longer value its beginning says enough. */
enum { LABEL_BYTES_MAX = 200 };

/* Ends what is longer than a label, between two characters. */
static void cut(struct ptrc_buffer *b, size_t begin)
{
	size_t end = begin + LABEL_BYTES_MAX;

	if (b->used <= end)
		return;
	while (end > begin && ((unsigned char)b->bytes[end] & 0xC0) == 0x80)
		end--;
	b->used = end;
	ptrc_buffer_text(b, "...");
}

bool ptrc_label_put(struct ptrc_buffer *b, const struct ptrc_label *label, struct ptrc_view *view)
{
	struct ptrc_value v = ptrc_view_value(view, &label->field);
	struct ptrc_buffer room = PTRC_BUFFER_INIT;
	size_t begin = b->used;

	ptrc_value_take_name(&v);
	ptrc_value_settle(&v, &room);
	/* Of JSON, null is no value either. */
	if (v.kind == PTRC_VALUE_NONE)
		return false;
	if (v.kind == PTRC_VALUE_TEXT)
		ptrc_buffer_bytes(b, v.bytes, v.size);
	else
		ptrc_value_text(b, &v);
	cut(b, begin);
	ptrc_buffer_free(&room);
	return true;
}
