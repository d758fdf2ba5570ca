/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/view/lines.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli/message.h"

/* Makes a full ring twice as large, with the oldest line at its begin. */
static void grow(struct ptrc_lines *l)
{
	size_t size = l->size ? 2 * l->size : 64;
	struct ptrc_line *lines = ptrc_cli_allocate(size * sizeof(*lines));

	for (size_t i = 0; i < l->count; i++)
		lines[i] = l->lines[(l->first + i) % l->size];
	free(l->lines);
	l->lines = lines;
	l->size = size;
	l->first = 0;
}

void ptrc_lines_add(struct ptrc_lines *l, int64_t ns, struct ptrc_buffer *text)
{
	struct ptrc_line *line;

	if (l->count == l->size)
		grow(l);
	line = &l->lines[(l->first + l->count++) % l->size];
	*line = (struct ptrc_line){
		.ns = ns,
		.text = ptrc_cli_allocate(text->used),
		.used = text->used,
	};
	if (text->used)
		memcpy(line->text, text->bytes, text->used);
	l->bytes += sizeof(*line) + line->used;
	text->used = 0;
}

const struct ptrc_line *ptrc_lines_first(const struct ptrc_lines *l)
{
	return &l->lines[l->first];
}

void ptrc_lines_drop(struct ptrc_lines *l)
{
	struct ptrc_line *line = &l->lines[l->first];

	l->bytes -= sizeof(*line) + line->used;
	free(line->text);
	l->first = (l->first + 1) % l->size;
	l->count--;
}

void ptrc_lines_free(struct ptrc_lines *l)
{
	while (l->count)
		ptrc_lines_drop(l);
	free(l->lines);
}
