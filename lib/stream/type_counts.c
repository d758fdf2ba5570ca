/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/type_counts.h"

#include "lib/base/atomic.h"

static void add(_Atomic uint64_t *word, uint64_t n)
{
	ptrc_store_relaxed(word, ptrc_load_relaxed(word) + n);
}

static void reset(struct ptrc_type_counts *c, uint64_t epoch)
{
	for (uint32_t i = 0; i < PTRC_TYPE_COUNT; i++) {
		ptrc_store_relaxed(&c->type[i].events, 0);
		ptrc_store_relaxed(&c->type[i].bytes, 0);
		ptrc_store_relaxed(&c->type[i].truncated, 0);
	}
	ptrc_store_release(&c->epoch, epoch);
}

void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch,
			  const struct ptrc_type_sum *sum)
{
	uint64_t known = ptrc_load_relaxed(&c->epoch);

	/* They were cleared while they were flushed. */
	if (epoch < known || sum->id >= PTRC_TYPE_COUNT)
		return;
	if (epoch > known)
		reset(c, epoch);
	add(&c->type[sum->id].events, sum->events);
	add(&c->type[sum->id].bytes, sum->bytes);
	if (sum->truncated)
		add(&c->type[sum->id].truncated, sum->truncated);
}

void ptrc_type_counts_begin(struct ptrc_type_counts *c)
{
	add(&c->version, 1);
	atomic_thread_fence(memory_order_release);
}

void ptrc_type_counts_end(struct ptrc_type_counts *c)
{
	ptrc_store_release(&c->version, ptrc_load_relaxed(&c->version) + 1);
}

void ptrc_type_counts_mend(struct ptrc_type_counts *c)
{
	if (ptrc_load_relaxed(&c->version) & 1)
		ptrc_type_counts_end(c);
}
