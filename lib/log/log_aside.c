/* SPDX-License-Identifier: MIT */
#include "lib/log/log_aside.h"

#include "lib/log/log_index.h"

int ptrc_log_aside_write(struct ptrc_log_writer *w)
{
	uint64_t offset = w->state.offset;
	int error;

	if (w->kind == PTRC_LOG_SEQUENTIAL) {
		error = ptrc_log_append(w);
		if (!error)
			ptrc_log_index_note(w, offset);
		return error;
	}
	error = ptrc_log_write_at(w, PTRC_LOG_RING_OFFSET + w->ring_size + w->state.tail);
	if (!error)
		w->state.tail += w->out.used;
	return error;
}

bool ptrc_log_aside_put(struct ptrc_log_writer *w, uint16_t type, const void *payload,
			uint64_t bytes)
{
	const struct ptrc_log_facts p = {.type = type};
	uint64_t log = w->kind == PTRC_LOG_RING ? w->ring_size : w->state.offset;

	ptrc_log_buffer_clear(&w->out);
	if (ptrc_log_packet_put(w, &p, payload, bytes))
		return false;
	if (w->state.aside + w->out.used > PTRC_LOG_ASIDE_BYTES + log / 16)
		return true;
	if (ptrc_log_aside_write(w))
		return false;
	w->state.aside += w->out.used;
	return true;
}
