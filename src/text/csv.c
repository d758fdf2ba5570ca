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

bool ptrc_csv_value(struct ptrc_buffer *b, const struct ptrc_value *v)
{
	size_t begin = b->used;

	if (v->kind == PTRC_VALUE_TEXT || v->kind == PTRC_VALUE_ENUM)
		return ptrc_csv_text(b, v->bytes, v->size) && !v->raw;
	if (v->kind == PTRC_VALUE_JSON && *v->bytes == '"')
		ptrc_json_text_unescape(b, v->bytes, v->size);
	else if (v->kind == PTRC_VALUE_JSON)
		ptrc_json_text_put(b, v->bytes, v->size, false);
	else if (v->kind != PTRC_VALUE_NONE)
		ptrc_value_text(b, v, false);
	ptrc_csv_end(b, begin);
	return ptrc_value_is_exact(v);
}
