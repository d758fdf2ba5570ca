/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/lines.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli.h"

/* The ring is full: twice the size, with the oldest at its begin. */
static void grow(struct ptrc_lines *l)
{
	size_t size = l->size ? 2 * l->size : 64;
	struct ptrc_line *lines = ptrc_cli_allocate(size * sizeof(*lines));
	size_t behind = l->size - l->first;

	memset(lines, 0, size * sizeof(*lines));
	if (l->size) {
		memcpy(lines, l->lines + l->first, behind * sizeof(*lines));
		memcpy(lines + behind, l->lines, l->first * sizeof(*lines));
	}
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
	line = &l->lines[(l->first + l->count) % l->size];
	line->ns = ns;
	line->text.used = 0;
	ptrc_buffer_bytes(&line->text, text->bytes, text->used);
	l->bytes += text->used;
	l->count++;
	text->used = 0;
}

const struct ptrc_line *ptrc_lines_first(const struct ptrc_lines *l)
{
	return &l->lines[l->first];
}

void ptrc_lines_drop(struct ptrc_lines *l)
{
	l->bytes -= l->lines[l->first].text.used;
	l->first = (l->first + 1) % l->size;
	l->count--;
}

void ptrc_lines_free(struct ptrc_lines *l)
{
	for (size_t i = 0; i < l->size; i++)
		ptrc_buffer_free(&l->lines[i].text);
	free(l->lines);
}
