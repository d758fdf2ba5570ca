/* SPDX-License-Identifier: MIT */
#include "lib/log/log_names.h"

#include <stdbool.h>
#include <string.h>

#include "lib/log/log_aside.h"
#include "lib/log/log_output.h"
#include "lib/log/log_ring.h"

/* Names per packet: few enough that a packet fits between the events of a small ring. */
#define NAMES_BYTES UINT64_C(4096)

/* Adds names to the packet in w->out, from number *index on, until `count` is reached or the
 * packet is full. */
static void add_names(struct ptrc_log_writer *w, const struct ptrc_names_object *names,
		      uint32_t *index, uint32_t count)
{
	uint64_t start = w->out.used;

	while (*index < count) {
		const char *name = names->entry[*index].name;
		struct ptrc_log_name head = {.id = (uint16_t)(PTRC_ID_FIRST + *index)};
		uint64_t size;

		if (!ptrc_names_object_has(names, *index)) {
			++*index;
			continue;
		}
		while (head.name_bytes < PTRC_NAME_BYTES - 1 && name[head.name_bytes])
			head.name_bytes++;
		size = sizeof(head) + ptrc_align8(head.name_bytes);
		if (w->out.used > start && w->out.used - start + size > NAMES_BYTES)
			break;
		ptrc_log_buffer_add(&w->out, &head, sizeof(head));
		ptrc_log_buffer_add(&w->out, name, head.name_bytes);
		ptrc_log_buffer_pad(&w->out);
		++*index;
	}
}

static int write_from(struct ptrc_log_writer *w, const struct ptrc_names_object *names,
		      uint32_t index, uint32_t count, bool is_behind)
{
	static const struct ptrc_log_facts p = {.type = PTRC_LOG_NAMES};

	while (index < count) {
		uint64_t empty;
		int error;

		ptrc_log_packet_begin(w);
		empty = w->out.used;
		add_names(w, names, &index, count);
		if (w->out.used == empty) {
			w->state.names = w->state.names < index ? index : w->state.names;
			return 0;
		}
		error = ptrc_log_packet_end(w, 0, &p);
		if (error)
			return error;
		if (w->kind == PTRC_LOG_SEQUENTIAL || is_behind ||
		    (w->state.flags & PTRC_LOG_STATE_WRAPPED) ||
		    w->state.offset + w->out.used > w->ring_size)
			error = ptrc_log_aside_write(w);
		else
			error = ptrc_log_ring_write(w, w->state.offset, &p);
		if (error)
			return error;
		if (w->state.names < index)
			w->state.names = index;
	}
	return 0;
}

int ptrc_log_names_write(struct ptrc_log_writer *w, const struct ptrc_names_object *names)
{
	uint32_t count;
	int error;

	w->names = names;
	if (!names)
		return 0;
	count = ptrc_names_object_count(names);
	if (w->state.names >= count)
		return 0;
	error = write_from(w, names, (uint32_t)w->state.names, count, false);
	ptrc_log_state_save(w);
	return error;
}

int ptrc_log_names_before_wrap(struct ptrc_log_writer *w)
{
	struct ptrc_log_buffer packet = w->out;
	int error = 0;

	if (w->names) {
		memset(&w->out, 0, sizeof(w->out));
		error = write_from(w, w->names, 0,
				   w->state.names < PTRC_NAMES_MAX ? (uint32_t)w->state.names
								   : PTRC_NAMES_MAX,
				   true);
		ptrc_log_buffer_free(&w->out);
		w->out = packet;
	}
	if (!error)
		ptrc_log_aside_before_wrap(w);
	if (!error)
		w->state.flags |= PTRC_LOG_STATE_WRAPPED;
	return error;
}

uint64_t ptrc_log_names_count(const struct ptrc_log_writer *w)
{
	uint64_t count = 0;

	for (uint32_t i = 0; w->names && i < w->state.names && i < PTRC_NAMES_MAX; i++)
		count += ptrc_names_object_has(w->names, i);
	return count;
}
