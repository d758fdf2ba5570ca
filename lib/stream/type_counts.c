/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/type_counts.h"

static void add(_Atomic uint64_t *word, uint64_t n)
{
	atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

static void reset(struct ptrc_type_counts *c, uint64_t epoch)
{
	for (uint32_t i = 0; i < PTRC_TYPE_COUNT; i++) {
		atomic_store_explicit(&c->type[i].events, 0, memory_order_relaxed);
		atomic_store_explicit(&c->type[i].bytes, 0, memory_order_relaxed);
		atomic_store_explicit(&c->type[i].truncated, 0, memory_order_relaxed);
	}
	atomic_store_explicit(&c->epoch, epoch, memory_order_release);
}

void ptrc_type_counts_add(struct ptrc_type_counts *c, uint64_t epoch,
			  const struct ptrc_type_sum *sum)
{
	uint64_t known = atomic_load_explicit(&c->epoch, memory_order_relaxed);

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
	atomic_store_explicit(&c->version,
			      atomic_load_explicit(&c->version, memory_order_relaxed) + 1,
			      memory_order_release);
}

void ptrc_type_counts_mend(struct ptrc_type_counts *c)
{
	if (atomic_load_explicit(&c->version, memory_order_relaxed) & 1)
		ptrc_type_counts_end(c);
}
