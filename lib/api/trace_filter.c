/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <posixtrace-control.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#include "lib/base/atomic.h"
#include "lib/control/controller.h"
#include "lib/life/life.h"
#include "lib/model/eventset.h"
#include "lib/stream/patterns.h"

_Static_assert(POSIXTRACE_PATTERNS_MAX == PTRC_PATTERNS_MAX, "as the header says");
PTRC_ASSERT_SIZE(((struct posixtrace_pattern *)NULL)->pt_glob, PTRC_NAME_BYTES);

PTRC_PUBLIC int posix_trace_get_filter(trace_id_t id, trace_event_set_t *set)
{
	uint64_t bits[PTRC_SET_WORD_COUNT];
	PTRC_ENTER(c, id);

	if (!c || !set)
		return EINVAL;
	/* A thread that changes the filter holds this lock. Until it has finished, the filter in
	 * the header is a mixture of the old and the new one. */
	PTRC_LOCK(&c->lock);
	ptrc_patterns_judge_all(c->stream.header, c->names);
	ptrc_filter_told(c->stream.header, bits);
	ptrc_set_from_bits(set, bits);
	return 0;
}

/* Computes a word of the new filter, which is a set of bits. `word` is the same word of the old
 * filter, `given` that of the set that the program passed. */
static uint64_t combine(uint64_t word, uint64_t given, int how)
{
	return how == POSIX_TRACE_SET_EVENTSET	 ? given
	       : how == POSIX_TRACE_ADD_EVENTSET ? word | given
						 : word & ~given;
}

/* Prepares a change of the filter. Types that the program subtracts from the filter, or omits from
 * the new filter (POSIX_TRACE_SET_EVENTSET), are recorded even if the patterns exclude them. For
 * names that no process has opened yet, the patterns still decide. */
static void prepare(struct ptrc_controller *c, const trace_event_set_t *set, int how,
		    struct ptrc_filter_change *change)
{
	struct ptrc_stream_header *h = c->stream.header;
	uint64_t given[PTRC_SET_WORD_COUNT];
	uint32_t end = PTRC_ID_FIRST + ptrc_patterns_judge_all(h, c->names);

	memset(change, 0, sizeof(*change));
	change->is_always_told = true;
	change->patterns = ptrc_load_relaxed(&h->patterns);
	ptrc_set_to_bits(set, given);
	ptrc_filter_told(h, change->old_told);
	for (uint32_t id = PTRC_SET_ID_MIN; id < end && how != POSIX_TRACE_ADD_EVENTSET; id++)
		if (how == POSIX_TRACE_SET_EVENTSET || ptrc_set_has(set, id))
			ptrc_bits_add(change->decided, id);
	for (uint32_t i = 0; i < PTRC_SET_WORD_COUNT; i++) {
		change->filter[i] = combine(ptrc_load_relaxed(&h->filter[i]), given[i], how);
		change->new_told[i] =
			change->filter[i] | (change->old_told[i] & ~change->decided[i] &
					     ~ptrc_load_relaxed(&h->filter[i]));
	}
}

PTRC_PUBLIC int posix_trace_set_filter(trace_id_t id, const trace_event_set_t *set, int how)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_context origin = ptrc_controller_origin();
	struct ptrc_filter_change change;
	PTRC_ENTER(c, id);

	if (!c || !ptrc_set_is_valid(set) ||
	    (how != POSIX_TRACE_SET_EVENTSET && how != POSIX_TRACE_ADD_EVENTSET &&
	     how != POSIX_TRACE_SUB_EVENTSET))
		return EINVAL;
	PTRC_LOCK(&c->lock);
	prepare(c, set, how, &change);
	ptrc_stream_change_filter(&c->stream, &change, &origin, addr);
	return 0;
}

/* Checks the program's patterns and makes a copy of them. EINVAL: a pattern is invalid. ENOMEM. */
static int take_patterns(const struct posixtrace_pattern *given, size_t count,
			 struct ptrc_pattern **patterns)
{
	struct ptrc_pattern *copy;

	for (size_t i = 0; i < count; i++)
		if ((given[i].pt_how != POSIXTRACE_ONLY && given[i].pt_how != POSIXTRACE_EXCLUDE) ||
		    !*given[i].pt_glob || !memchr(given[i].pt_glob, '\0', PTRC_NAME_BYTES))
			return EINVAL;
	copy = calloc(count + 1, sizeof(*copy));
	if (!copy)
		return ENOMEM;
	for (size_t i = 0; i < count; i++) {
		copy[i].is_only = given[i].pt_how == POSIXTRACE_ONLY;
		strcpy(copy[i].glob, given[i].pt_glob);
	}
	*patterns = copy;
	return 0;
}

PTRC_PUBLIC int posixtrace_set_patterns(trace_id_t id, const struct posixtrace_pattern *given,
					size_t count)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_context origin = ptrc_controller_origin();
	struct ptrc_filter_change change;
	struct ptrc_pattern *patterns;
	int error;
	PTRC_ENTER(c, id);

	if (!c || (!given && count))
		return EINVAL;
	if (count > POSIXTRACE_PATTERNS_MAX)
		return E2BIG;
	error = take_patterns(given, count, &patterns);
	if (error)
		return error;
	PTRC_LOCK(&c->lock);
	error = ptrc_patterns_prepare(c->stream.header, c->names, patterns, (uint32_t)count,
				      &change);
	if (!error)
		ptrc_stream_change_filter(&c->stream, &change, &origin, addr);
	free(patterns);
	return error;
}

PTRC_PUBLIC int posixtrace_get_patterns(trace_id_t id, struct posixtrace_pattern *patterns,
					size_t size, size_t *count)
{
	struct ptrc_pattern *copy;
	size_t got;
	PTRC_ENTER(c, id);

	if (!c || !count || (!patterns && size))
		return EINVAL;
	copy = calloc(PTRC_PATTERNS_MAX, sizeof(*copy));
	if (!copy)
		return ENOMEM;
	pthread_mutex_lock(&c->lock);
	got = ptrc_patterns_get(c->stream.header, copy);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < got && i < size; i++) {
		patterns[i].pt_how = copy[i].is_only ? POSIXTRACE_ONLY : POSIXTRACE_EXCLUDE;
		patterns[i].pt_has_matched = ptrc_pattern_has_match(&copy[i], c->names);
		memcpy(patterns[i].pt_glob, copy[i].glob, sizeof(copy[i].glob));
	}
	free(copy);
	*count = got;
	return 0;
}
