/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/flames.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/message.h"

/* An entry of the tables: the number of a frame or a stack, plus 1, because 0 marks a new entry. */
struct numbered {
	struct ptrc_table_entry entry;
	uint32_t number;
};

uint32_t ptrc_flames_frame(struct ptrc_flames *f, const char *text, size_t size)
{
	struct numbered *n = ptrc_table_find(&f->frame_table, text, size, sizeof(*n));
	struct ptrc_buffer *frame;

	if (n->number)
		return n->number - 1;
	frame = ptrc_append(f->frames, f->frame_count);
	*frame = (struct ptrc_buffer)PTRC_BUFFER_INIT;
	ptrc_buffer_bytes(frame, text, size);
	n->number = f->frame_count;
	return n->number - 1;
}

uint32_t ptrc_flames_stack(struct ptrc_flames *f, uint32_t below, uint32_t frame)
{
	uint32_t key[] = {below, frame};
	struct numbered *n = ptrc_table_find(&f->stack_table, key, sizeof(key), sizeof(*n));

	if (!f->stack_count)
		*ptrc_append(f->stacks, f->stack_count) = (struct ptrc_flame_stack){0};
	if (!n->number) {
		*ptrc_append(f->stacks, f->stack_count) =
			(struct ptrc_flame_stack){.below = below, .frame = frame};
		n->number = f->stack_count;
	}
	return n->number - 1;
}

void ptrc_flames_add(struct ptrc_flames *f, uint32_t stack, uint64_t count)
{
	uint64_t *sum = &f->stacks[stack].count;

	if (__builtin_add_overflow(*sum, count, sum))
		*sum = UINT64_MAX;
}

uint32_t *ptrc_flames_unwind(const struct ptrc_flames *f, uint32_t stack, size_t *count)
{
	uint32_t *frames;
	size_t depth = 0;

	for (uint32_t i = stack; i; i = f->stacks[i].below)
		depth++;
	frames = ptrc_cli_allocate((depth + 1) * sizeof(*frames));
	*count = depth;
	for (uint32_t i = stack; i; i = f->stacks[i].below)
		frames[--depth] = f->stacks[i].frame;
	return frames;
}

/* ---- samples ---- */

void ptrc_flames_begin_samples(struct ptrc_flames *f, const struct ptrc_query *q)
{
	struct ptrc_cli_reason why;

	f->source_count = q->source_count;
	f->caches = ptrc_cli_allocate(q->source_count * sizeof(struct ptrc_symbol_cache *));
	if (!q->symbols)
		f->own_symbols = ptrc_symbols_open(&why);
	f->symbols = q->symbols ? q->symbols : f->own_symbols;
	if (!f->symbols)
		ptrc_cli_message(NULL, "functions have no names: %s", why.text);
}

/* Appends the name of the function at the address; if that is not known, the name of the file that
 * is mapped there, in brackets; if that is not known either, the address. */
static void put_place(struct ptrc_buffer *b, struct ptrc_flames *f, const struct ptrc_source *s,
		      unsigned long process, uint64_t address)
{
	struct posixtrace_log_mapping m;
	const struct ptrc_symbol *symbol = NULL;

	/* ptrc_symbols_find() expects a return address, which is after the call, and subtracts 1. Hence the + 1. */
	if (f->symbols)
		symbol = ptrc_symbols_find(f->symbols, &f->caches[s->order], s->reader.trace,
					   process, address + 1, false);
	if (symbol && symbol->function) {
		ptrc_buffer_text(b, symbol->function);
	} else if (!ptrc_log_find_mapping(s->reader.trace, process, address, &m)) {
		ptrc_buffer_hex(b, address);
	} else {
		/* The name of a mapping without a file, such as [vdso], already has brackets. */
		bool has_brackets = m.pm_path_size && *m.pm_path == '[';
		size_t at = m.pm_path_size;

		while (at && m.pm_path[at - 1] != '/')
			at--;
		ptrc_buffer_text(b, has_brackets ? "" : "[");
		ptrc_buffer_bytes(b, m.pm_path + at, m.pm_path_size - at);
		ptrc_buffer_text(b, has_brackets ? "" : "]");
	}
}

static uint32_t frame_of(struct ptrc_flames *f, const struct ptrc_source *s, unsigned long process,
			 uint64_t address, bool is_innermost)
{
	const uint64_t key[] = {s->order, process, address, is_innermost};
	struct ptrc_buffer name = PTRC_BUFFER_INIT;
	struct numbered *n;

	n = ptrc_table_find(&f->addresses, key, sizeof(key), sizeof(*n));
	if (n->number)
		return n->number - 1;
	/* The innermost address is where the thread was. All others are return addresses, which are after the
	 * call; 1 less is an address within the calling function. */
	put_place(&name, f, s, process, address - (!is_innermost && address));
	n->number = ptrc_flames_frame(f, name.bytes, name.used) + 1;
	ptrc_buffer_free(&name);
	return n->number - 1;
}

/* Returns the addresses of a sample's stack: its field "stack" or, if it has no layout, all of its data. */
static const char *find_addresses(const struct ptrc_query *q, struct ptrc_view *view, size_t *count)
{
	const struct ptrc_value *v = ptrc_view_member(view, &q->layouts, "stack");

	if (v && (v->kind == PTRC_VALUE_BYTES ||
		  (v->kind == PTRC_VALUE_ARRAY && v->elements->item_size == sizeof(uint64_t)))) {
		*count = v->size / sizeof(uint64_t);
		return v->bytes;
	}
	*count = view->layout ? 0 : view->reader->size / sizeof(uint64_t);
	return (const char *)view->reader->data;
}

uint32_t ptrc_flames_sample(struct ptrc_flames *f, const struct ptrc_query *q,
			    struct ptrc_source *s, uint32_t below)
{
	uint32_t stack = below;
	size_t count;
	const char *addresses = find_addresses(q, &s->view, &count);
	unsigned long process = ptrc_reader_process(&s->reader);

	for (size_t i = count; i; i--) {
		uint64_t address;

		memcpy(&address, addresses + (i - 1) * sizeof(address), sizeof(address));
		/* If the array is longer than the stack, the rest of it is zero. */
		if (address)
			stack = ptrc_flames_stack(f, stack,
						  frame_of(f, s, process, address, i == 1));
	}
	return stack;
}

void ptrc_flames_report(struct ptrc_flames *f)
{
	if (f->own_symbols)
		ptrc_symbols_report(f->own_symbols, false);
}

void ptrc_flames_free(struct ptrc_flames *f)
{
	for (uint32_t i = 0; i < f->frame_count; i++)
		ptrc_buffer_free(&f->frames[i]);
	free(f->frames);
	free(f->stacks);
	ptrc_table_free(&f->frame_table);
	ptrc_table_free(&f->stack_table);
	ptrc_table_free(&f->addresses);
	for (size_t i = 0; i < f->source_count; i++)
		free(f->caches[i]);
	free(f->caches);
	ptrc_symbols_free(f->own_symbols);
}
