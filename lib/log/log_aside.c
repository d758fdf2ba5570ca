/* SPDX-License-Identifier: MIT */
#include "lib/log/log_aside.h"

#include <string.h>

#include "lib/log/log_index.h"
#include "lib/log/log_ring.h"

int ptrc_log_aside_write(struct ptrc_log_writer *w)
{
	int error;

	if (w->kind == PTRC_LOG_SEQUENTIAL) {
		error = ptrc_log_append(w);
		if (!error)
			ptrc_log_index_note(w);
		return error;
	}
	error = ptrc_log_write_at(w, PTRC_LOG_RING_OFFSET + w->ring_size + w->state.tail);
	if (!error)
		w->state.tail += w->out.used;
	return error;
}

/* Behind the ring the packet in w->out would make a file long that has few events as yet. So in the
 * first lap it stands between them, if it takes little of the ring. */
static bool is_place_in_ring(const struct ptrc_log_writer *w)
{
	return w->kind == PTRC_LOG_RING && !(w->state.flags & PTRC_LOG_STATE_WRAPPED) &&
	       w->state.offset + w->out.used <= w->ring_size &&
	       w->state.aside + w->out.used <= w->ring_size / 32;
}

bool ptrc_log_aside_put(struct ptrc_log_writer *w, uint16_t type, const void *payload,
			uint64_t bytes)
{
	uint64_t log = w->kind == PTRC_LOG_RING ? w->ring_size : w->state.offset;
	bool is_counted;

	ptrc_log_buffer_clear(&w->out);
	if (ptrc_log_packet_put(w, type, payload, bytes))
		return false;
	is_counted = w->kind == PTRC_LOG_RING || !w->origins.is_observed;
	if (is_counted && w->state.aside + w->out.used > PTRC_LOG_ASIDE_BYTES + log / 16)
		return true;
	if (is_place_in_ring(w) ? ptrc_log_ring_write(w, w->state.offset) : ptrc_log_aside_write(w))
		return false;
	w->state.aside += is_counted ? w->out.used : 0;
	return true;
}

void ptrc_log_aside_before_wrap(struct ptrc_log_writer *w)
{
	uint64_t place = 0;

	while (ptrc_log_ring_load_aside(w, &place) && !ptrc_log_aside_write(w))
		;
}
