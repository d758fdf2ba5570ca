/* SPDX-License-Identifier: MIT */
#include "lib/log/log_write.h"

#include <stdbool.h>
#include <string.h>

/* Bytes of names per packet: few enough that a packet fits between the events of a small ring. */
#define NAMES_BYTES UINT64_C(4096)

/* What is to be written: names, or names that are in the log already and have got a layout since. */
struct range {
	bool is_late;
	/* Indices of entries; or numbers of layouts in the order in which they came. */
	uint32_t next, end;
	/* Of late ones: the entries from here on are not meant, as they are written with their names. */
	uint32_t new_names;
};

/* Finds the entry of the next name of the range. False: it has none to write. */
static bool entry_of(const struct ptrc_names_object *names, const struct range *r, uint32_t *index)
{
	*index = r->is_late ? ptrc_names_object_described(names, r->next) : r->next;
	return (!r->is_late || *index < r->new_names) && *index < PTRC_NAMES_MAX &&
	       ptrc_names_object_has(names, *index);
}

/* Adds names to the packet in w->out until the range ends or the packet is full. */
static void add_names(struct ptrc_log_writer *w, struct range *r)
{
	const struct ptrc_names_object *names = w->names;
	uint64_t start = w->out.used;

	for (; r->next < r->end; r->next++) {
		struct ptrc_log_name head = {0};
		const char *name, *layout;
		uint32_t index;
		uint64_t size;

		if (!entry_of(names, r, &index))
			continue;
		name = names->entry[index].name;
		head.id = (uint16_t)(PTRC_ID_FIRST + index);
		head.name_bytes = (uint16_t)strnlen(name, PTRC_NAME_BYTES - 1);
		layout = ptrc_names_object_layout(names, index, &head.layout_bytes);
		if (!layout)
			head.layout_bytes = 0;
		size = sizeof(head) + ptrc_align8((uint64_t)head.name_bytes + head.layout_bytes);
		if (w->out.used > start && w->out.used - start + size > NAMES_BYTES)
			break;
		ptrc_log_buffer_add(&w->out, &head, sizeof(head));
		ptrc_log_buffer_add(&w->out, name, head.name_bytes);
		if (layout)
			ptrc_log_buffer_add(&w->out, layout, head.layout_bytes);
		ptrc_log_buffer_pad(&w->out);
	}
}

/* The log has what comes before r->next. */
static void note_written(struct ptrc_log_writer *w, const struct range *r)
{
	uint32_t *written = r->is_late ? &w->state.layouts : &w->state.names;

	if (*written < r->next)
		*written = r->next;
}

static int write_range(struct ptrc_log_writer *w, struct range r)
{
	while (r.next < r.end) {
		uint64_t empty;
		int error = 0;

		ptrc_log_packet_begin(w);
		empty = w->out.used;
		add_names(w, &r);
		if (w->out.used > empty) {
			error = ptrc_log_packet_end(
				w, 0, (struct ptrc_log_packet){.type = PTRC_LOG_NAMES});
			if (!error)
				error = ptrc_log_aside_write(w, true);
		}
		if (error)
			return error;
		note_written(w, &r);
	}
	return 0;
}

int ptrc_log_names_write(struct ptrc_log_writer *w)
{
	const struct ptrc_names_object *names = w->names;
	struct range new = {.next = w->state.names};
	struct range late = {.is_late = true, .next = w->state.layouts, .new_names = new.next};
	int error = 0;

	if (!names)
		return 0;
	/* Layouts first: then the names of all of these are counted in, and those that are new are
	 * written with their layouts. */
	for (late.end = late.next; ptrc_names_object_described(names, late.end) < PTRC_NAMES_MAX;)
		late.end++;
	new.end = ptrc_names_object_count(names);
	if (new.next >= new.end && late.next == late.end)
		return 0;
	error = write_range(w, new);
	if (!error)
		error = write_range(w, late);
	ptrc_log_state_save(w);
	return error;
}

int ptrc_log_names_before_wrap(struct ptrc_log_writer *w)
{
	struct range all = {.end = w->state.names < PTRC_NAMES_MAX ? w->state.names
								   : PTRC_NAMES_MAX};
	struct ptrc_log_buffer packet = w->out;
	int error = 0;

	memset(&w->out, 0, sizeof(w->out));
	w->state.flags |= PTRC_LOG_STATE_WRAPPED;
	if (w->names)
		error = write_range(w, all);
	if (error)
		w->state.flags &= ~PTRC_LOG_STATE_WRAPPED;
	else
		ptrc_log_aside_before_wrap(w);
	ptrc_log_buffer_free(&w->out);
	w->out = packet;
	return error;
}

uint64_t ptrc_log_names_count(const struct ptrc_log_writer *w)
{
	uint64_t count = 0;

	for (uint32_t i = 0; w->names && i < w->state.names && i < PTRC_NAMES_MAX; i++)
		count += ptrc_names_object_has(w->names, i);
	return count;
}
