/* SPDX-License-Identifier: MIT */
#include "lib/log/log_write.h"

#include <errno.h>
#include <string.h>

void ptrc_log_index_begin(struct ptrc_log_writer *w, bool is_lost)
{
	ptrc_log_index_free(&w->index);
	w->index.is_lost = is_lost || !w->is_regular || w->kind != PTRC_LOG_SEQUENTIAL;
}

void ptrc_log_index_free(struct ptrc_log_index *x)
{
	ptrc_log_buffer_free(&x->entries);
	ptrc_log_buffer_free(&x->fresh);
	ptrc_log_buffer_free(&x->totals);
	memset(x, 0, sizeof(*x));
}

void ptrc_log_index_note(struct ptrc_log_writer *w)
{
	struct ptrc_log_index *x = &w->index;
	struct ptrc_log_packet p;

	if (x->is_lost)
		return;
	memcpy(&p, w->out.bytes, sizeof(p));
	/* Whoever searches the log for packets must not find one in the index. */
	p.magic = 0;
	x->is_lost = ptrc_log_buffer_add(&x->entries, &p, sizeof(p)) ||
		     ptrc_log_buffer_add(&x->fresh, w->out.bytes + sizeof(p), p.sums_bytes);
}

void ptrc_log_index_note_filter(struct ptrc_log_writer *w)
{
	for (uint32_t i = 0; i < PTRC_SET_WORD_COUNT; i++)
		w->index.filtered[i] |= w->state.filter[i];
}

/* One for each type, all zero at first. Null: no memory. */
static struct ptrc_log_total *totals_of(struct ptrc_log_index *x)
{
	uint64_t bytes = PTRC_TYPE_SUMS_MAX * sizeof(struct ptrc_log_total);

	/* Memory from the kernel is zero. */
	if (!x->totals.used && ptrc_log_buffer_reserve(&x->totals, bytes))
		return NULL;
	x->totals.used = bytes;
	return (void *)x->totals.bytes;
}

void ptrc_log_index_keep(struct ptrc_log_writer *w)
{
	struct ptrc_log_index *x = &w->index;
	struct ptrc_log_total *totals = x->is_lost ? NULL : totals_of(x);
	struct ptrc_type_sum sum;

	if (!totals) {
		x->is_lost = true;
		return;
	}
	for (uint64_t at = 0; at < x->fresh.used; at += sizeof(sum)) {
		memcpy(&sum, x->fresh.bytes + at, sizeof(sum));
		ptrc_log_total_add(&totals[sum.id & PTRC_REC_ID_MASK], sum.events, sum.bytes,
				   sum.truncated);
	}
	ptrc_log_buffer_clear(&x->fresh);
}

void ptrc_log_index_forget(struct ptrc_log_writer *w, uint64_t offset)
{
	struct ptrc_log_buffer *entries = &w->index.entries;
	struct ptrc_log_packet p;

	ptrc_log_buffer_clear(&w->index.fresh);
	for (uint64_t at = w->state.offset; entries->used && at > offset;
	     at -= ptrc_log_packet_size(&p)) {
		entries->used -= sizeof(p);
		memcpy(&p, entries->bytes + entries->used, sizeof(p));
	}
}

/* Adds an INDEX packet with all entries to w->out. ENOMEM. */
static int put_entries(struct ptrc_log_writer *w)
{
	struct ptrc_log_index *x = &w->index;
	struct ptrc_log_index_head head = {
		.previous = x->previous,
		.count = (uint32_t)(x->entries.used / sizeof(struct ptrc_log_packet))};
	uint64_t start = w->out.used;

	ptrc_log_packet_open(w);
	ptrc_log_buffer_add(&w->out, &head, sizeof(head));
	ptrc_log_buffer_add(&w->out, x->entries.bytes, x->entries.used);
	return ptrc_log_packet_end(w, start, (struct ptrc_log_packet){.type = PTRC_LOG_INDEX});
}

void ptrc_log_index_write(struct ptrc_log_writer *w)
{
	struct ptrc_log_index *x = &w->index;
	uint64_t offset = w->state.offset;

	if (x->is_lost || x->entries.used < PTRC_LOG_INDEX_COUNT * sizeof(struct ptrc_log_packet))
		return;
	ptrc_log_buffer_clear(&w->out);
	if (put_entries(w) || ptrc_log_append(w))
		return;
	x->previous = offset;
	ptrc_log_buffer_clear(&x->entries);
	/* If this keeper dies the next one goes on behind the packet. */
	ptrc_log_state_save(w);
}

/* Adds the TOTALS packet to w->out. ENOMEM. */
static int put_totals(struct ptrc_log_writer *w)
{
	const struct ptrc_log_total *totals = totals_of(&w->index);
	struct ptrc_log_totals_head head = {.filter_words = PTRC_SET_WORD_COUNT};
	uint64_t start = w->out.used, at;

	if (!totals)
		return ENOMEM;
	ptrc_log_packet_open(w);
	at = w->out.used;
	ptrc_log_buffer_add(&w->out, &head, sizeof(head));
	for (uint32_t id = 0; id < PTRC_TYPE_SUMS_MAX; id++) {
		struct ptrc_log_total total = totals[id];

		if (!total.events)
			continue;
		total.id = id;
		ptrc_log_buffer_add(&w->out, &total, sizeof(total));
		head.type_count++;
	}
	ptrc_log_buffer_add(&w->out, w->index.filtered, sizeof(w->index.filtered));
	if (!w->out.is_short)
		memcpy(w->out.bytes + at, &head, sizeof(head));
	return ptrc_log_packet_end(w, start, (struct ptrc_log_packet){.type = PTRC_LOG_TOTALS});
}

uint64_t ptrc_log_index_end(struct ptrc_log_writer *w)
{
	uint64_t start = w->out.used;

	/* If the last flush has failed midway, what it has written stays all the same. */
	ptrc_log_index_keep(w);
	if (w->index.is_lost)
		return 0;
	if (put_entries(w) || put_totals(w)) {
		w->out.used = start;
		w->out.is_short = false;
		return 0;
	}
	return w->state.offset + start;
}
