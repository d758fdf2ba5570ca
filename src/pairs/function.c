/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/pairs/function.h"

#include <string.h>

/* The event tells it; its own address is that of the call in there which has recorded it. */
uint64_t ptrc_function_address(const struct ptrc_layouts *layouts, struct ptrc_view *view)
{
	int name = ptrc_layouts_name(layouts, "function", strlen("function"));
	const struct ptrc_value *v = NULL;

	if (view->layout && name >= 0)
		v = ptrc_layout_value(view->layout, ptrc_view_decode(view), name);
	return v && v->kind == PTRC_VALUE_HEX ? v->u
					      : (uintptr_t)view->reader->event.posix_prog_address;
}

void ptrc_function_put_place(struct ptrc_buffer *b, const struct ptrc_reader *r, uint64_t address)
{
	struct posixtrace_log_mapping m;
	size_t at;

	ptrc_buffer_text(b, "function ");
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

void ptrc_function_put_name(struct ptrc_buffer *b, const struct ptrc_layouts *layouts,
			    struct ptrc_view *view)
{
	const struct ptrc_symbol *s = ptrc_view_symbol(view);

	if (s->function)
		ptrc_buffer_text(b, s->function);
	else
		ptrc_function_put_place(b, view->reader, ptrc_function_address(layouts, view));
}
