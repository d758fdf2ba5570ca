/* SPDX-License-Identifier: MIT */
/* Which events a command selects, by type, process, thread, time, fields, and what they are
 * near to (--around). */
#ifndef PTRC_SRC_QUERY_SELECT_H
#define PTRC_SRC_QUERY_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/cli.h"
#include "src/query/reader.h"
#include "src/query/view.h"
#include "src/fields/when.h"
#include "src/query/where.h"

struct ptrc_select_numbers {
	pid_t *numbers;
	size_t count;
};

/* From first to last, both included, in nanoseconds since 1970. */
struct ptrc_period {
	int64_t first;
	int64_t last;
};

/* The span that has no time in it yet. */
static const struct ptrc_period ptrc_period_none = {INT64_MAX, INT64_MIN};

static inline void ptrc_period_widen(struct ptrc_period *s, int64_t ns)
{
	s->first = ns < s->first ? ns : s->first;
	s->last = ns > s->last ? ns : s->last;
}

/* The conditions that an event has to meet. One that is not given is empty, zero or null; the
 * span then is all of time. */
struct ptrc_select {
	struct ptrc_cli_texts globs;
	/* System events are left out. */
	bool is_user;
	/* The events that say when the log was written are left out. */
	bool is_without_flushes;
	struct ptrc_select_numbers pids;
	struct ptrc_select_numbers tids;
	struct ptrc_period span;
	struct ptrc_where **wheres;
	size_t where_count;

	/* The pattern of --around, or null, and its expression, or null. With it only events in
	 * windows are selected: the times around the events that the pattern matches and for which
	 * the expression holds. The windows are sorted and do not touch each other. */
	char *around;
	struct ptrc_where *around_where;
	struct ptrc_period *windows;
	size_t window_count;
};

void ptrc_select_add_number(struct ptrc_select_numbers *, pid_t);

/* Adds an expression. The selection frees it. */
void ptrc_select_add_where(struct ptrc_select *, struct ptrc_where *);

/* The expressions of --where, and then that of --around; null after the last one. */
static inline struct ptrc_where *ptrc_select_where(const struct ptrc_select *s, size_t i)
{
	if (i < s->where_count)
		return s->wheres[i];
	return i == s->where_count ? s->around_where : NULL;
}

/* Whether the pattern of --around matches the type's name. */
bool ptrc_select_is_around(const struct ptrc_select *, struct ptrc_reader *, trace_event_id_t);

/* Whether the patterns select types of this name. */
bool ptrc_select_has_name(const struct ptrc_select *, const char *name);

/* Stores the types that the patterns select, of those of the reader. Returns whether there are
 * others, that they do not select. */
bool ptrc_select_get_types(const struct ptrc_select *, struct ptrc_reader *, trace_event_set_t *);

/* Stores the types that the pattern of --around matches, of those of the reader. */
void ptrc_select_get_around(const struct ptrc_select *, struct ptrc_reader *, trace_event_set_t *);

/* Whether only the patterns and --user decide. */
bool ptrc_select_is_by_type(const struct ptrc_select *);

/* Whether the event meets all conditions; does not look at windows. */
bool ptrc_select_event(struct ptrc_select *, struct ptrc_view *);

/*
 * Whether a pair of events meets the conditions; the view is that of its end, and tells of its begin.
 * It meets one of name, process or thread if either of its events does, and that of time if it
 * lasted from, to or over a moment of the span.
 */
bool ptrc_select_pair(struct ptrc_select *, struct ptrc_view *);

/* The same of an event that is without the other one, whose name is given: of a begin the pair is open
 * until the end of time, of an end it always was. Expressions are not looked at. */
bool ptrc_select_half(const struct ptrc_select *, struct ptrc_reader *, const char *other,
		      bool is_end);

/* Whether the moment, or one of the time from first to last, lies in a window. */
bool ptrc_select_is_in_window(const struct ptrc_select *, int64_t ns);
bool ptrc_select_meets_window(const struct ptrc_select *, int64_t first, int64_t last);

void ptrc_select_add_window(struct ptrc_select *, int64_t first, int64_t last);
/* Is called when all windows have been added. Sorts them and joins those that touch. */
void ptrc_select_sort_windows(struct ptrc_select *);

void ptrc_select_free(struct ptrc_select *);

#endif
