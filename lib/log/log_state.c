/* SPDX-License-Identifier: MIT */
#include "lib/log/log_state.h"

#include <string.h>

#include "lib/base/atomic.h"
#include "lib/stream/status.h"

/* What log_state[0] says, or 0 if it says nothing that can be. */
static uint64_t load_which(const struct ptrc_stream_header *h)
{
	uint64_t which = ptrc_load_acquire(&h->log_state[0]);

	return which <= PTRC_LOG_STATE_WHICH_MAX ? which : 0;
}

uint32_t ptrc_log_state_place(const struct ptrc_stream_header *h)
{
	uint64_t which = load_which(h);

	return which ? (uint32_t)PTRC_LOG_STATE_PLACE(which) : 0;
}

bool ptrc_log_state_is_saved(const struct ptrc_stream_header *h)
{
	return load_which(h) != 0;
}

/* A keeper may be killed at any store. So the copy that is not valid is filled first, and then
 * one word is stored, which makes that copy and the place of its log valid. */
void ptrc_log_state_save(struct ptrc_log_writer *w)
{
	struct ptrc_stream_header *h = w->header;
	uint64_t words[PTRC_LOG_STATE_WORDS] = {0}, which, copy;
	_Atomic uint64_t *to;

	if (!h)
		return;
	which = load_which(h);
	copy = which ? 1 - PTRC_LOG_STATE_COPY(which) : 0;
	to = &h->log_state[1 + copy * PTRC_LOG_STATE_WORDS];
	memcpy(words, &w->state, sizeof(w->state));
	for (uint32_t i = 0; i < PTRC_LOG_STATE_WORDS; i++)
		ptrc_store_relaxed(&to[i], words[i]);
	ptrc_store_release(&h->log_state[0], 1 + copy + 2 * (uint64_t)w->place);
	ptrc_log_state_tell(w);
}

void ptrc_log_state_tell(const struct ptrc_log_writer *w)
{
	struct ptrc_stream_header *h = w->header;

	if (!h)
		return;
	ptrc_store_relaxed(&h->log_events, w->state.past.events + w->state.events);
	ptrc_store_relaxed(&h->log_bytes, w->state.past.bytes + w->state.bytes);
	ptrc_store_relaxed(&h->log_lost_events, w->state.past.log_lost_events +
							w->state.lost_events +
							w->state.overwritten_events);
}

bool ptrc_log_state_read(const struct ptrc_stream_header *h, struct ptrc_log_state *state)
{
	uint64_t which = load_which(h);
	uint64_t words[PTRC_LOG_STATE_WORDS];

	if (!which)
		return false;
	for (uint32_t i = 0; i < PTRC_LOG_STATE_WORDS; i++)
		words[i] = ptrc_load_relaxed(
			&h->log_state[1 + PTRC_LOG_STATE_COPY(which) * PTRC_LOG_STATE_WORDS + i]);
	memcpy(state, words, sizeof(*state));
	return true;
}

bool ptrc_log_state_load(struct ptrc_log_writer *w)
{
	return ptrc_log_state_read(w->header, &w->state);
}

void ptrc_log_state_leave(struct ptrc_log_writer *w)
{
	uint64_t waits = w->state.flags & PTRC_LOG_STATE_MARKERS_WAIT;

	if (waits && ptrc_log_state_load(w)) {
		w->state.flags |= waits;
		ptrc_log_state_save(w);
	}
}

void ptrc_log_note_loss(struct ptrc_log_writer *w)
{
	ptrc_status_set(w->header, PTRC_ST_LOG_OVERRUN | PTRC_ST_EVER_LOG_OVERRUN);
}
