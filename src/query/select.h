/* SPDX-License-Identifier: MIT */
/* The selection of events: by type, process, thread, time, fields, and by being near to other events (--around). */
#ifndef PTRC_SRC_QUERY_SELECT_H
#define PTRC_SRC_QUERY_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/cli.h"
#include "src/fields/when.h"
#include "src/query/reader.h"
#include "src/query/view.h"
#include "src/query/where.h"

struct ptrc_select_numbers {
	pid_t *numbers;
	size_t count;
};

/* A period in nanoseconds since 1970, which includes its first and its last nanosecond. */
struct ptrc_period {
	int64_t first;
	int64_t last;
};

static const struct ptrc_period ptrc_period_none = {INT64_MAX, INT64_MIN};
static const struct ptrc_period ptrc_period_all = {INT64_MIN, INT64_MAX};

static inline bool ptrc_period_has(const struct ptrc_period *s, int64_t ns)
{
	return ns >= s->first && ns <= s->last;
}

static inline void ptrc_period_widen(struct ptrc_period *s, int64_t ns)
{
	s->first = ns < s->first ? ns : s->first;
	s->last = ns > s->last ? ns : s->last;
}

/* The conditions that an event has to meet. Conditions that were not given are empty, 0 or NULL; if no time was
 * given, the span is all of time. */
struct ptrc_select {
	struct ptrc_cli_texts globs;
	/* System events are left out. */
	bool is_user;
	/* The events that flushes record, which only say when the log was written, are left out. */
	bool is_without_flushes;
	struct ptrc_select_numbers pids;
	struct ptrc_select_numbers tids;
	struct ptrc_period span;
	struct ptrc_where **wheres;
	size_t where_count;

	/* The pattern and the expression of --around, or NULL. With a pattern, only events within windows are
	 * selected. A window is a period around an event that matches the pattern and the expression. The windows
	 * are sorted and do not touch each other. */
	char *around;
	struct ptrc_where *around_where;
	struct ptrc_period *windows;
	size_t window_count;
};

/* Iterates over all expressions: for i from 0 on, returns those of --where, then that of --around, then NULL. */
static inline struct ptrc_where *ptrc_select_where(const struct ptrc_select *s, size_t i)
{
	if (i < s->where_count)
		return s->wheres[i];
	return i == s->where_count ? s->around_where : NULL;
}

/* Whether the pattern of --around matches the name of the event type. */
bool ptrc_select_is_around(const struct ptrc_select *, struct ptrc_reader *, trace_event_id_t);

/* Whether the patterns of --event select event types of this name. */
bool ptrc_select_has_name(const struct ptrc_select *, const char *name);

/* Stores the selected event types of the reader. Returns false, with no type stored, if all types are selected. */
bool ptrc_select_get_types(const struct ptrc_select *, struct ptrc_reader *, trace_event_set_t *);

/* Stores the event types of the reader that the pattern of --around matches. */
void ptrc_select_get_around(const struct ptrc_select *, struct ptrc_reader *, trace_event_set_t *);

/* Whether the selection of an event depends on nothing but its type. */
bool ptrc_select_is_by_type(const struct ptrc_select *);

/* Whether the event meets all conditions. Does not check whether it is in a window of --around; the
 * caller does. */
bool ptrc_select_event(struct ptrc_select *, struct ptrc_view *);

/* Whether the event meets all conditions except the expressions of --where and the windows of
 * --around. */
bool ptrc_select_meets_rest(struct ptrc_select *, struct ptrc_view *);

/* Whether a pair of events meets the conditions. Conditions on type, process or thread hold if they hold for one of
 * the two events. The condition on the time holds if the pair overlaps the span. If one event is missing, its view
 * is NULL and `missing` is the name of its type. The pair is then taken to last from before all times, or until
 * after all times, and expressions are not evaluated. */
bool ptrc_select_pair(struct ptrc_select *, struct ptrc_view *begin, struct ptrc_view *end,
		      const char *missing);

/* Whether some time from `first` to `last` is in a window. */
bool ptrc_select_meets_window(const struct ptrc_select *, int64_t first, int64_t last);

void ptrc_select_add_window(struct ptrc_select *, int64_t first, int64_t last);
/* Sorts the windows and joins those that touch. Called after the last one was added. */
void ptrc_select_sort_windows(struct ptrc_select *);

void ptrc_select_free(struct ptrc_select *);

#endif
