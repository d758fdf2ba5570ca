/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/query/select.h"

#include <stdlib.h>

#include "lib/model/glob.h"
#include "src/base/message.h"
#include "src/base/sorted.h"

static bool has_number(const struct ptrc_select_numbers *n, pid_t number)
{
	bool found = !n->count;

	for (size_t i = 0; i < n->count && !found; i++)
		found = n->numbers[i] == number;
	return found;
}

bool ptrc_select_has_name(const struct ptrc_select *s, const char *name)
{
	bool found = !s->globs.count;

	for (size_t i = 0; i < s->globs.count && !found; i++)
		found = ptrc_glob_matches(s->globs.texts[i], name);
	return found;
}

static bool has_type(const struct ptrc_select *s, struct ptrc_reader *r, trace_event_id_t id)
{
	bool is_flush = id == POSIX_TRACE_FLUSH_START || id == POSIX_TRACE_FLUSH_STOP;

	return ptrc_select_has_name(s, ptrc_reader_name(r, id)->text) &&
	       !(s->is_user && ptrc_is_system_type(id)) && !(s->is_without_flushes && is_flush);
}

bool ptrc_select_is_around(const struct ptrc_select *s, struct ptrc_reader *r, trace_event_id_t id)
{
	struct ptrc_type *t = ptrc_reader_type(r, id);

	if (__builtin_expect(t->is_around == PTRC_TYPE_UNKNOWN, 0))
		t->is_around =
			ptrc_glob_matches(s->around, t->name.text) ? PTRC_TYPE_YES : PTRC_TYPE_NO;
	return t->is_around == PTRC_TYPE_YES;
}

bool ptrc_select_get_types(const struct ptrc_select *s, struct ptrc_reader *r,
			   trace_event_set_t *types)
{
	posix_trace_eventset_empty(types);
	if (!s->globs.count && !s->is_user && !s->is_without_flushes)
		return false;
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
		if (has_type(s, r, id))
			posix_trace_eventset_add(id, types);
	return true;
}

void ptrc_select_get_around(const struct ptrc_select *s, struct ptrc_reader *r,
			    trace_event_set_t *types)
{
	posix_trace_eventset_empty(types);
	for (trace_event_id_t id = 1; id < PTRC_READER_IDS; id++)
		if (ptrc_select_is_around(s, r, id))
			posix_trace_eventset_add(id, types);
}

bool ptrc_select_is_by_type(const struct ptrc_select *s)
{
	return !s->pids.count && !s->tids.count && !s->where_count && !s->around &&
	       s->span.first == INT64_MIN && s->span.last == INT64_MAX;
}

bool ptrc_select_meets_rest(struct ptrc_select *s, struct ptrc_view *view)
{
	struct ptrc_reader *r = view->reader;
	const struct posix_trace_event_info *e = &r->event;
	trace_event_id_t id = e->posix_event_id;
	struct ptrc_type *t = ptrc_reader_type(r, id);

	if (__builtin_expect(t->is_selected == PTRC_TYPE_UNKNOWN, 0))
		t->is_selected = has_type(s, r, id) ? PTRC_TYPE_YES : PTRC_TYPE_NO;
	if (t->is_selected == PTRC_TYPE_NO || !has_number(&s->pids, e->posix_pid) ||
	    !has_number(&s->tids, e->posix_tid))
		return false;
	if (s->span.first != INT64_MIN || s->span.last != INT64_MAX) {
		int64_t ns = ptrc_when_ns(&e->posix_timestamp);

		if (ns < s->span.first || ns > s->span.last)
			return false;
	}
	return true;
}

bool ptrc_select_event(struct ptrc_select *s, struct ptrc_view *view)
{
	return ptrc_select_meets_rest(s, view) &&
	       ptrc_where_all_hold(s->wheres, s->where_count, view);
}

bool ptrc_select_pair(struct ptrc_select *s, struct ptrc_view *begin, struct ptrc_view *end,
		      const char *missing)
{
	struct ptrc_view *views[] = {begin, end};
	bool has_either = (!begin || !end) && ptrc_select_has_name(s, missing);
	bool has_pid = false, has_tid = false;

	for (size_t i = 0; i < 2; i++) {
		struct ptrc_reader *r = views[i] ? views[i]->reader : NULL;

		if (!r)
			continue;
		has_either |= has_type(s, r, r->event.posix_event_id);
		has_pid |= has_number(&s->pids, r->event.posix_pid);
		has_tid |= has_number(&s->tids, r->event.posix_tid);
	}
	if (!has_either || !has_pid || !has_tid ||
	    (begin && ptrc_when_ns(&begin->reader->event.posix_timestamp) > s->span.last) ||
	    (end && ptrc_when_ns(&end->reader->event.posix_timestamp) < s->span.first))
		return false;
	return !begin || !end || ptrc_where_all_hold(s->wheres, s->where_count, end);
}

bool ptrc_select_meets_window(const struct ptrc_select *s, int64_t first, int64_t last)
{
	/* The last window that starts by `last` also ends last of these. */
	size_t n = ptrc_sorted_up_to(s->windows, s->window_count, sizeof(*s->windows), last);

	return n && s->windows[n - 1].last >= first;
}

/* If the periods touch or overlap, extends *a by *b and returns true. *b starts no earlier than *a. */
static bool join(struct ptrc_period *a, const struct ptrc_period *b)
{
	if (b->first > a->last && b->first - 1 > a->last)
		return false;
	if (b->last > a->last)
		a->last = b->last;
	return true;
}

void ptrc_select_add_window(struct ptrc_select *s, int64_t first, int64_t last)
{
	struct ptrc_period window = {first, last};
	size_t n = s->window_count;

	/* Events of one log arrive sorted by time. So if the new window touches another window, that other window is
	 * mostly the last one in the list. Joining the two here keeps the list short. */
	if (n && s->windows[n - 1].first <= first && join(&s->windows[n - 1], &window))
		return;
	*ptrc_append(s->windows, s->window_count) = window;
}

static int compare(const void *a, const void *b)
{
	const struct ptrc_period *s = a;
	const struct ptrc_period *t = b;

	return (s->first > t->first) - (s->first < t->first);
}

void ptrc_select_sort_windows(struct ptrc_select *s)
{
	size_t used = 0;

	if (!s->window_count)
		return;
	ptrc_sort(s->windows, s->window_count, compare);
	for (size_t i = 1; i < s->window_count; i++)
		if (!join(&s->windows[used], &s->windows[i]))
			s->windows[++used] = s->windows[i];
	s->window_count = used + 1;
}

void ptrc_select_free(struct ptrc_select *s)
{
	free(s->globs.texts);
	free(s->pids.numbers);
	free(s->tids.numbers);
	free(s->windows);
	for (size_t i = 0; i < s->where_count; i++)
		ptrc_where_free(s->wheres[i]);
	free(s->wheres);
	if (s->around_where)
		ptrc_where_free(s->around_where);
	free(s->around);
}
