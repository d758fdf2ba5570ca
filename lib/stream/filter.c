/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/filter.h"

#include "lib/base/atomic.h"

static bool has_bit(const _Atomic uint64_t *bits, uint32_t id)
{
	return ptrc_load_relaxed(&bits[id / PTRC_SET_WORD_BITS]) >> id % PTRC_SET_WORD_BITS & 1;
}

enum ptrc_verdict ptrc_filter_of_patterns(const struct ptrc_stream_header *h, uint32_t id)
{
	uint32_t patterns = ptrc_load_acquire(&h->patterns), verdict;
	const struct ptrc_pattern_list *list;
	bool is_known;

	if (!(patterns & PTRC_PATTERNS_ON))
		return PTRC_RECORDED;
	list = ptrc_stream_patterns((struct ptrc_stream_header *)h, patterns);
	verdict = ptrc_load_acquire(&list->verdict[id]);
	is_known = !((verdict ^ patterns) & PTRC_PATTERNS_NUMBER);
	verdict &= ~PTRC_PATTERNS_NUMBER;
	/* For system event types the controller has stored the verdicts in list->system. */
	if (id < PTRC_ID_UNNAMED && !(is_known && verdict == PTRC_VERDICT_DECIDED))
		return list->system >> id & 1 ? PTRC_EXCLUDED : PTRC_RECORDED;
	if (!is_known)
		return PTRC_UNJUDGED;
	return verdict == PTRC_VERDICT_EXCLUDE ? PTRC_EXCLUDED : PTRC_RECORDED;
}

enum ptrc_verdict ptrc_filter_verdict(const struct ptrc_stream_header *h, uint32_t id)
{
	/* Read the patterns before the filter: if a type moves from the patterns to the filter,
	 * it is stored in the filter first. Read `pass` last: it is set before filter or patterns
	 * change. */
	enum ptrc_verdict verdict = ptrc_filter_of_patterns(h, id);

	if (has_bit(h->filter, id))
		verdict = PTRC_EXCLUDED;
	atomic_thread_fence(memory_order_acquire);
	return has_bit(h->pass, id) ? PTRC_RECORDED : verdict;
}

void ptrc_filter_told(const struct ptrc_stream_header *h, uint64_t bits[PTRC_SET_WORD_COUNT])
{
	for (uint32_t i = 0; i < PTRC_SET_WORD_COUNT; i++)
		bits[i] = ptrc_load_relaxed(&h->filter[i]);
	if (!(ptrc_load_acquire(&h->patterns) & PTRC_PATTERNS_ON))
		return;
	for (uint32_t id = PTRC_SET_ID_MIN; id <= PTRC_SET_ID_MAX; id++)
		if (ptrc_filter_of_patterns(h, id) == PTRC_EXCLUDED)
			ptrc_bits_add(bits, id);
}

uint32_t ptrc_filter_next_patterns(uint32_t patterns, bool is_other, bool is_on)
{
	uint32_t number = (patterns & PTRC_PATTERNS_NUMBER) + PTRC_PATTERNS_ONE;
	uint32_t list = patterns & PTRC_PATTERNS_LIST;

	return number | (is_other ? list ^ PTRC_PATTERNS_LIST : list) |
	       (is_on ? PTRC_PATTERNS_ON : 0);
}

void ptrc_filter_store(struct ptrc_stream_header *h, const struct ptrc_filter_change *change)
{
	struct ptrc_pattern_list *list = ptrc_stream_patterns(h, change->patterns);

	for (uint32_t i = 0; i < PTRC_SET_WORD_COUNT; i++)
		ptrc_store_release(&h->filter[i], change->filter[i]);
	/* Few of the thousands of types have a bit in `decided`: most words are 0, and cost
	 * nothing. */
	for (uint32_t i = 0; change->patterns & PTRC_PATTERNS_ON && i < PTRC_SET_WORD_COUNT; i++)
		for (uint64_t bits = change->decided[i]; bits; bits &= bits - 1)
			ptrc_store_release(&list->verdict[i * PTRC_SET_WORD_BITS +
							  (uint32_t)__builtin_ctzll(bits)],
					   (change->patterns & PTRC_PATTERNS_NUMBER) |
						   PTRC_VERDICT_DECIDED);
	ptrc_store_release(&h->patterns, change->patterns);
}

void ptrc_filter_clear(struct ptrc_stream_header *h)
{
	uint32_t patterns = ptrc_load_relaxed(&h->patterns);

	for (uint32_t i = 0; i < PTRC_SET_WORD_COUNT; i++)
		ptrc_store_relaxed(&h->filter[i], 0);
	if (patterns & PTRC_PATTERNS_ON)
		ptrc_store_release(&h->patterns, ptrc_filter_next_patterns(patterns, false, true));
}
