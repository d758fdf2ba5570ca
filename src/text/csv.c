/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/text/csv.h"

#include <string.h>

#include "src/fields/json_text.h"

void ptrc_csv_end(struct ptrc_buffer *b, size_t begin)
{
	size_t size = b->used - begin, quotes = 0;
	bool is_quoted = size && (b->bytes[begin] == ' ' || b->bytes[b->used - 1] == ' ');
	char *from, *to;

	for (size_t i = begin; i < b->used; i++) {
		is_quoted |= strchr("\",\r\n", b->bytes[i]) != NULL;
		quotes += b->bytes[i] == '"';
	}
	if (!is_quoted)
		return;
	ptrc_buffer_room(b, quotes + 2);
	from = b->bytes + b->used;
	b->used += quotes + 2;
	to = b->bytes + b->used;
	/* Copies from the end to the start, because each quote that is added moves the text after it. */
	for (*--to = '"'; from > b->bytes + begin; *--to = *from)
		if (*--from == '"')
			*--to = '"';
	*--to = '"';
}

bool ptrc_csv_text(struct ptrc_buffer *b, const char *text, size_t size)
{
	size_t begin = b->used;
	bool is_whole = ptrc_text_put_utf8(b, text, size);

	ptrc_csv_end(b, begin);
	return is_whole;
}

static void put_plain(struct ptrc_buffer *b, struct ptrc_value v)
{
	v.unit = PTRC_UNIT_NONE;
	ptrc_value_text(b, &v);
}

bool ptrc_csv_value(struct ptrc_buffer *b, const struct ptrc_value *v)
{
	size_t begin = b->used;
	struct ptrc_value item;

	if (v->kind == PTRC_VALUE_TEXT || v->kind == PTRC_VALUE_ENUM)
		return ptrc_csv_text(b, v->bytes, v->size) && !v->raw;
	if (v->kind == PTRC_VALUE_JSON) {
		ptrc_json_text_put(b, v->bytes, v->size, false);
	} else if (v->kind == PTRC_VALUE_ARRAY) {
		ptrc_buffer_char(b, '[');
		for (uint64_t i = 0; i < ptrc_value_count(v); i++) {
			if (i)
				ptrc_buffer_char(b, ',');
			ptrc_value_element(v, i, &item);
			put_plain(b, item);
		}
		ptrc_buffer_char(b, ']');
	} else if (v->kind != PTRC_VALUE_NONE) {
		put_plain(b, *v);
	}
	ptrc_csv_end(b, begin);
	return ptrc_value_is_exact(v);
}
