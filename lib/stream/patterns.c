/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lib/stream/patterns.h"

#include <errno.h>
#include <string.h>

#include "lib/base/atomic.h"
#include "lib/base/file.h"
#include "lib/model/glob.h"

/* The comparison of a name is repeated if other patterns have come into force meanwhile, at most
 * this often. */
#define JUDGE_TRIES 16U

static void copy_pattern(const struct ptrc_pattern_list *list, uint32_t index,
			 struct ptrc_pattern *copy)
{
	memcpy(copy, &list->pattern[index], sizeof(*copy));
	copy->glob[sizeof(copy->glob) - 1] = '\0';
}

static uint32_t count_patterns(const struct ptrc_pattern_list *list)
{
	uint32_t count = *(const volatile uint32_t *)&list->count;

	return count < PTRC_PATTERNS_MAX ? count : PTRC_PATTERNS_MAX;
}

/* Whether the patterns exclude the name: it matches an excluding pattern; or there are "only"
 * patterns and it matches none of them. "Only" patterns do not affect system event types. */
static bool is_excluded(const struct ptrc_pattern_list *list, uint32_t id, const char *name)
{
	bool is_in_only = false, has_only = false;
	struct ptrc_pattern pattern;

	for (uint32_t i = 0, count = count_patterns(list); i < count; i++) {
		bool is_match;

		copy_pattern(list, i, &pattern);
		is_match = ptrc_glob_matches(pattern.glob, name);
		if (is_match && !pattern.is_only)
			return true;
		has_only |= pattern.is_only;
		is_in_only |= is_match;
	}
	return id >= PTRC_ID_UNNAMED && has_only && !is_in_only;
}

static uint32_t make_verdict(uint32_t patterns, bool is_out)
{
	return (patterns & PTRC_PATTERNS_NUMBER) |
	       (is_out ? PTRC_VERDICT_EXCLUDE : PTRC_VERDICT_RECORD);
}

/* Compares the name of a type that the patterns in force have not judged, and stores the
 * verdict. */
static void judge(struct ptrc_stream_header *h, uint32_t id, const struct ptrc_names *n)
{
	uint32_t patterns = ptrc_load_acquire(&h->patterns);
	struct ptrc_pattern_list *list = ptrc_stream_patterns(h, patterns);
	char name[PTRC_NAME_BYTES];
	uint32_t seen;
	bool is_out;

	if (ptrc_filter_of_patterns(h, id) != PTRC_UNJUDGED || ptrc_names_get(n, id, name) != 0)
		return;
	seen = ptrc_load_acquire(&list->verdict[id]);
	is_out = is_excluded(list, id, name);
	atomic_thread_fence(memory_order_acquire);
	/* If other patterns are in force now, the list may have changed during the comparison. If
	 * other patterns come into force after this check, the verdict that is stored below has
	 * an old number, and so is ignored. */
	if (ptrc_load_relaxed(&h->patterns) != patterns)
		return;
	ptrc_cas(&list->verdict[id], &seen, make_verdict(patterns, is_out));
}

enum ptrc_verdict ptrc_patterns_verdict(struct ptrc_stream_header *h, uint32_t id,
					const struct ptrc_names *n)
{
	enum ptrc_verdict verdict = ptrc_filter_verdict(h, id);

	for (unsigned tries = 0; verdict == PTRC_UNJUDGED && tries < JUDGE_TRIES; tries++) {
		judge(h, id, n);
		verdict = ptrc_filter_verdict(h, id);
	}
	return verdict;
}

uint32_t ptrc_patterns_judge_all(struct ptrc_stream_header *h, const struct ptrc_names *n)
{
	uint32_t count = ptrc_names_count(n);

	if (ptrc_load_acquire(&h->patterns) & PTRC_PATTERNS_ON)
		for (uint32_t id = PTRC_ID_UNNAMED; id < PTRC_ID_FIRST + count; id++)
			judge(h, id, n);
	return count;
}

/* Whether posix_trace_set_filter() has decided on this type since the patterns were set. */
static bool is_decided(struct ptrc_stream_header *h, uint32_t patterns, uint32_t id)
{
	return (patterns & PTRC_PATTERNS_ON) &&
	       ptrc_load_relaxed(&ptrc_stream_patterns(h, patterns)->verdict[id]) ==
		       ((patterns & PTRC_PATTERNS_NUMBER) | PTRC_VERDICT_DECIDED);
}

/* Stores the verdict of the new list of patterns, which is not in force yet, on a name. A type on
 * which posix_trace_set_filter() had decided stays decided if the old and the new patterns have the
 * same verdict on its name. */
static void judge_anew(struct ptrc_stream_header *h, uint32_t old, struct ptrc_pattern_list *list,
		       uint32_t id, const char *name, struct ptrc_filter_change *change)
{
	bool is_out = is_excluded(list, id, name);

	/* The verdict of a decided type is stored, too, because posix_trace_clear() ends the
	 * decision and then judges only user event types again. */
	if (id < PTRC_ID_UNNAMED)
		list->system |= (uint32_t)is_out << id;
	else
		ptrc_store_relaxed(&list->verdict[id], make_verdict(change->patterns, is_out));
	if (is_decided(h, old, id) && is_out == is_excluded(ptrc_stream_patterns(h, old), id, name))
		ptrc_bits_add(change->decided, id);
	else if (is_out)
		ptrc_bits_add(change->new_told, id);
}

int ptrc_patterns_prepare(struct ptrc_stream_header *h, const struct ptrc_names *n,
			  const struct ptrc_pattern *patterns, uint32_t count,
			  struct ptrc_filter_change *change)
{
	uint32_t old = ptrc_load_relaxed(&h->patterns), name_count;
	struct ptrc_pattern_list *list;
	char name[PTRC_NAME_BYTES];

	memset(change, 0, sizeof(*change));
	change->patterns = ptrc_filter_next_patterns(old, true, count != 0);
	list = ptrc_stream_patterns(h, change->patterns);
	/* Before the first patterns are set, the lists have no memory. */
	if (count && !ptrc_file_populate(list, offsetof(struct ptrc_pattern_list, pattern[count])))
		return ENOMEM;
	name_count = ptrc_patterns_judge_all(h, n);
	ptrc_filter_told(h, change->old_told);
	for (uint32_t i = 0; i < PTRC_SET_WORD_COUNT; i++)
		change->new_told[i] = change->filter[i] = ptrc_load_relaxed(&h->filter[i]);
	if (!count)
		return 0;
	memcpy(list->pattern, patterns, count * sizeof(*patterns));
	list->count = count;
	list->system = 0;
	for (uint32_t id = PTRC_SET_ID_MIN; id < PTRC_ID_FIRST + name_count; id++)
		if (ptrc_names_get(n, id, name) == 0)
			judge_anew(h, old, list, id, name, change);
	return 0;
}

uint32_t ptrc_patterns_get(struct ptrc_stream_header *h,
			   struct ptrc_pattern patterns[PTRC_PATTERNS_MAX])
{
	uint32_t word = ptrc_load_acquire(&h->patterns), count = 0;
	const struct ptrc_pattern_list *list = ptrc_stream_patterns(h, word);

	if (word & PTRC_PATTERNS_ON)
		count = count_patterns(list);
	for (uint32_t i = 0; i < count; i++)
		copy_pattern(list, i, &patterns[i]);
	return count;
}

bool ptrc_pattern_has_match(const struct ptrc_pattern *pattern, const struct ptrc_names *n)
{
	char name[PTRC_NAME_BYTES];
	uint32_t count = ptrc_names_count(n);

	for (uint32_t id = PTRC_SET_ID_MIN; id < PTRC_ID_FIRST + count; id++)
		if (ptrc_names_get(n, id, name) == 0 && ptrc_glob_matches(pattern->glob, name))
			return true;
	return false;
}
