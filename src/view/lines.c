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

/* Returns memory for so many bytes, with at most as many to spare; null for 0 bytes. */
static char *take_room(struct ptrc_lines *l, size_t used, size_t *size)
{
	char *room = l->spare;

	*size = l->spare_size;
	if (*size >= used && *size - used <= used) {
		l->spare = NULL;
		l->spare_size = 0;
		return room;
	}
	*size = used;
	return used ? ptrc_cli_allocate(used) : NULL;
}

void ptrc_lines_add(struct ptrc_lines *l, int64_t ns, struct ptrc_buffer *text)
{
	struct ptrc_line *line;

	if (l->count == l->size)
		grow(l);
	line = &l->lines[(l->first + l->count) % l->size];
	line->ns = ns;
	line->text = take_room(l, text->used, &line->size);
	line->used = text->used;
	if (text->used)
		memcpy(line->text, text->bytes, text->used);
	l->bytes += sizeof(*line) + line->size;
	l->count++;
	text->used = 0;
}

const struct ptrc_line *ptrc_lines_first(const struct ptrc_lines *l)
{
	return &l->lines[l->first];
}

void ptrc_lines_drop(struct ptrc_lines *l)
{
	struct ptrc_line *line = &l->lines[l->first];

	l->bytes -= sizeof(*line) + line->size;
	free(l->spare);
	l->spare = line->text;
	l->spare_size = line->size;
	line->text = NULL;
	l->first = (l->first + 1) % l->size;
	l->count--;
}

void ptrc_lines_free(struct ptrc_lines *l)
{
	while (l->count)
		ptrc_lines_drop(l);
	free(l->spare);
	free(l->lines);
}
