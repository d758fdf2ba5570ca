/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/flame.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli/message.h"

/* What the tables hold: numbers, counted from 1, as new things are zero. */
struct numbered {
	struct ptrc_table_entry entry;
	uint32_t number;
};

uint32_t ptrc_flames_frame(struct ptrc_flames *f, const char *text, size_t size)
{
	struct numbered *n = ptrc_table_find(&f->frame_table, text, size, sizeof(*n));

	if (n->number)
		return n->number - 1;
	f->frames = ptrc_cli_grow(f->frames, f->frame_count, sizeof(*f->frames));
	f->frames[f->frame_count] = (struct ptrc_buffer)PTRC_BUFFER_INIT;
	ptrc_buffer_bytes(&f->frames[f->frame_count], text, size);
	n->number = ++f->frame_count;
	return n->number - 1;
}

static uint32_t add_stack(struct ptrc_flames *f, uint32_t below, uint32_t frame)
{
	f->stacks = ptrc_cli_grow(f->stacks, f->stack_count, sizeof(*f->stacks));
	f->stacks[f->stack_count] = (struct ptrc_flame_stack){.below = below, .frame = frame};
	return f->stack_count++;
}

uint32_t ptrc_flames_stack(struct ptrc_flames *f, uint32_t below, uint32_t frame)
{
	uint32_t key[] = {below, frame};
	struct numbered *n = ptrc_table_find(&f->stack_table, key, sizeof(key), sizeof(*n));

	if (!f->stack_count)
		add_stack(f, 0, 0);
	if (!n->number)
		n->number = add_stack(f, below, frame) + 1;
	return n->number - 1;
}

void ptrc_flames_add(struct ptrc_flames *f, uint32_t stack, uint64_t count)
{
	uint64_t *sum = &f->stacks[stack].count;

	if (__builtin_add_overflow(*sum, count, sum))
		*sum = UINT64_MAX;
}

void ptrc_flames_free(struct ptrc_flames *f)
{
	for (uint32_t i = 0; i < f->frame_count; i++)
		ptrc_buffer_free(&f->frames[i]);
	free(f->frames);
	free(f->stacks);
	ptrc_table_free(&f->frame_table);
	ptrc_table_free(&f->stack_table);
}
