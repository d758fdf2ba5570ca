/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/sampled.h"

#include <stdlib.h>
#include <string.h>

#include "src/cli/message.h"

/* The frame of an address: its number and 1. */
struct address {
	struct ptrc_table_entry entry;
	uint32_t frame;
};

void ptrc_sampled_begin(struct ptrc_sampled *p, const struct ptrc_query *q)
{
	size_t bytes = q->source_count * sizeof(struct ptrc_symbol_cache *);
	struct ptrc_cli_reason why;

	p->source_count = q->source_count;
	p->caches = ptrc_cli_allocate(bytes);
	memset(p->caches, 0, bytes);
	p->symbols = ptrc_symbols_open(&why);
	if (!p->symbols)
		ptrc_cli_message(NULL, "functions have no names: %s", why.text);
}

/* Puts the name of a file without directories in brackets, which what is no file has by itself. */
static void put_file(struct ptrc_buffer *b, const struct posixtrace_log_mapping *m)
{
	bool has_brackets = m->pm_path_size && *m->pm_path == '[';
	size_t at = m->pm_path_size;

	while (at && m->pm_path[at - 1] != '/')
		at--;
	if (!has_brackets)
		ptrc_buffer_char(b, '[');
	ptrc_buffer_bytes(b, m->pm_path + at, m->pm_path_size - at);
	if (!has_brackets)
		ptrc_buffer_char(b, ']');
}

/* Puts what is known of code at the address: its function, else the file that it is in. */
static void put_place(struct ptrc_buffer *b, struct ptrc_sampled *p, const struct ptrc_source *s,
		      unsigned long process, uint64_t address)
{
	struct posixtrace_log_mapping m;
	const struct ptrc_symbol *symbol = NULL;

	/* Symbols are those of a call that returns to the address given. */
	if (p->symbols)
		symbol = ptrc_symbols_find(p->symbols, &p->caches[s->order], s->reader.trace,
					   process, address + 1, false);
	if (symbol && symbol->function) {
		ptrc_buffer_text(b, symbol->function);
		return;
	}
	if (ptrc_log_find_mapping(s->reader.trace, process, address, &m))
		put_file(b, &m);
	else
		ptrc_buffer_hex(b, address);
}

static uint32_t frame_of(struct ptrc_sampled *p, struct ptrc_flames *flames,
			 const struct ptrc_source *s, unsigned long process, uint64_t address,
			 bool is_innermost)
{
	const uint64_t key[] = {s->order, process, address, is_innermost};
	struct ptrc_buffer name = PTRC_BUFFER_INIT;
	struct address *a;

	a = ptrc_table_find(&p->addresses, key, sizeof(key), sizeof(*a));
	if (a->frame)
		return a->frame - 1;
	/* Those below the innermost one are where calls return to, behind the call. */
	put_place(&name, p, s, process, address - (!is_innermost && address));
	a->frame = ptrc_flames_frame(flames, name.bytes, name.used) + 1;
	ptrc_buffer_free(&name);
	return a->frame - 1;
}

/* Finds the addresses of a sample: its field "stack", or all of its data. */
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

uint32_t ptrc_sampled_stack(struct ptrc_sampled *p, struct ptrc_flames *flames,
			    const struct ptrc_query *d, struct ptrc_source *s, uint32_t below)
{
	uint32_t stack = below;
	size_t count;
	const char *addresses = find_addresses(d, &s->view, &count);
	unsigned long process = ptrc_reader_process(&s->reader);

	for (size_t i = count; i; i--) {
		uint64_t address;

		memcpy(&address, addresses + (i - 1) * sizeof(address), sizeof(address));
		/* The rest of an array that is not full. */
		if (address)
			stack = ptrc_flames_stack(flames, stack,
						  frame_of(p, flames, s, process, address, i == 1));
	}
	return stack;
}

void ptrc_sampled_report(struct ptrc_sampled *p)
{
	if (p->symbols)
		ptrc_symbols_report(p->symbols, false);
}

void ptrc_sampled_free(struct ptrc_sampled *p)
{
	for (size_t i = 0; i < p->source_count; i++)
		ptrc_symbol_cache_free(p->caches[i]);
	free(p->caches);
	ptrc_symbols_free(p->symbols);
	ptrc_table_free(&p->addresses);
}
