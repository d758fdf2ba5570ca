/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/text/lines.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"

void ptrc_lines_add(struct ptrc_lines *l, int64_t ns, struct ptrc_buffer *text)
{
	struct ptrc_line *line = ptrc_cli_allocate(sizeof(*line) + text->used);

	*line = (struct ptrc_line){.ns = ns, .used = text->used};
	if (text->used)
		memcpy(line->text, text->bytes, text->used);
	text->used = 0;
	if (l->first)
		l->last->next = line;
	else
		l->first = line;
	l->last = line;
	l->count++;
	l->bytes += sizeof(*line) + line->used;
}

void ptrc_lines_keep(struct ptrc_lines *l, uint64_t max, struct ptrc_buffer *text)
{
	if (l->count && l->count == max)
		ptrc_lines_drop(l);
	if (max)
		ptrc_lines_add(l, 0, text);
	text->used = 0;
}

void ptrc_lines_drop(struct ptrc_lines *l)
{
	struct ptrc_line *line = l->first;

	l->first = line->next;
	l->count--;
	l->bytes -= sizeof(*line) + line->used;
	free(line);
}
