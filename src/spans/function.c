/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/spans/function.h"

/* The address is in the field `function`. If an event lacks this field, its own address is used, which is within
 * the function. */
uint64_t ptrc_function_address(const struct ptrc_layouts *layouts, struct ptrc_view *view)
{
	const struct ptrc_value *v = ptrc_view_member(view, layouts, "function");

	return v && v->kind == PTRC_VALUE_HEX ? v->u
					      : (uintptr_t)view->reader->event.posix_prog_address;
}

void ptrc_place_put(struct ptrc_buffer *b, const struct ptrc_reader *r, uint64_t address)
{
	struct posixtrace_log_mapping m;
	size_t at;

	if (!ptrc_log_find_mapping(r->trace, ptrc_reader_process(r), address, &m)) {
		ptrc_buffer_hex(b, address);
		return;
	}
	at = m.pm_path_size;
	while (at && m.pm_path[at - 1] != '/')
		at--;
	ptrc_buffer_bytes(b, m.pm_path + at, m.pm_path_size - at);
	ptrc_buffer_char(b, '+');
	ptrc_buffer_hex(b, address - m.pm_start + m.pm_offset);
}

void ptrc_function_put_place(struct ptrc_buffer *b, const struct ptrc_reader *r, uint64_t address)
{
	ptrc_buffer_text(b, "function ");
	ptrc_place_put(b, r, address);
}

bool ptrc_pair_has_own_name(const struct ptrc_pair *pair)
{
	return ptrc_pair_is_function(pair) || ptrc_pair_is_program(pair);
}

void ptrc_pair_put_own_name(struct ptrc_buffer *b, const struct ptrc_pair *pair,
			    const struct ptrc_layouts *layouts, struct ptrc_view *view)
{
	if (ptrc_pair_is_program(pair)) {
		const struct ptrc_value *v = ptrc_view_member(view, layouts, "name");

		if (v && ptrc_value_has_bytes(v))
			ptrc_buffer_bytes(b, v->bytes, v->size);
		else
			ptrc_buffer_text(b, pair->name);
		return;
	}
	if (ptrc_view_symbol(view)->function)
		ptrc_buffer_text(b, ptrc_view_symbol(view)->function);
	else
		ptrc_function_put_place(b, view->reader, ptrc_function_address(layouts, view));
}
