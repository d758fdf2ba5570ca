/* SPDX-License-Identifier: MIT */
/*
 * Which events are shown.
 */
#ifndef PTRC_SRC_VIEW_SELECT_H
#define PTRC_SRC_VIEW_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/view/reader.h"
#include "src/view/view.h"
#include "src/view/when.h"
#include "src/view/where.h"

struct ptrc_select_glob {
	const char *pattern;
	bool has_matched;
};

struct ptrc_select_numbers {
	pid_t *numbers;
	size_t count;
};

/* From first to last, both included, in nanoseconds since 1970. */
struct ptrc_span {
	int64_t first;
	int64_t last;
};

/* All that an event must be. What was not asked for is empty, zero or null, but for the
 * span. */
struct ptrc_select {
	struct ptrc_select_glob *globs;
	size_t glob_count;
	/* None of the system event types. */
	bool is_user;
	struct ptrc_select_numbers pids;
	struct ptrc_select_numbers tids;
	struct ptrc_span span;
	struct ptrc_where *where;

	/* Only within these, if there is a pattern; sorted, none touching the next. */
	const char *around;
	struct ptrc_span *windows;
	size_t window_count;
	/* The first of them that did not end before the last event asked about. */
	size_t window;
};

#define PTRC_SELECT_INIT                         \
	{                                        \
		.span = { INT64_MIN, INT64_MAX } \
	}

enum { PTRC_SELECT_UNKNOWN, PTRC_SELECT_NO, PTRC_SELECT_YES };

/* What is known of the event types of one log. Starts zeroed. */
struct ptrc_select_types {
	unsigned char is_selected[PTRC_READER_IDS];
	unsigned char is_around[PTRC_READER_IDS];
};

void ptrc_select_add_glob(struct ptrc_select *, const char *pattern);
void ptrc_select_add_number(struct ptrc_select_numbers *, pid_t);

/* The first question about a type. */
bool ptrc_select_new_type(struct ptrc_select *, struct ptrc_select_types *,
			  struct ptrc_reader *, trace_event_id_t);

/* Whether the type is one of those wanted. */
static inline bool ptrc_select_type(struct ptrc_select *s, struct ptrc_select_types *t,
				    struct ptrc_reader *r, trace_event_id_t id)
{
	unsigned char answer = t->is_selected[id < PTRC_READER_IDS ? id : 0];

	return answer ? answer == PTRC_SELECT_YES : ptrc_select_new_type(s, t, r, id);
}

/* Whether events of the type have a window around them. */
bool ptrc_select_is_around(const struct ptrc_select *, struct ptrc_select_types *,
			   struct ptrc_reader *, trace_event_id_t);

/* Whether anything but the type decides. */
bool ptrc_select_has_more(const struct ptrc_select *);

/* Whether the event is one of those wanted, the windows apart. */
bool ptrc_select_event(struct ptrc_select *, struct ptrc_select_types *,
		       struct ptrc_view *);

/* Whether the moment lies in a window. */
bool ptrc_select_is_in_window(struct ptrc_select *, int64_t ns);

/* Adds one, and makes the list what it has to be when all are there. */
void ptrc_select_add_window(struct ptrc_select *, int64_t first, int64_t last);
void ptrc_select_sort_windows(struct ptrc_select *);

void ptrc_select_free(struct ptrc_select *);

#endif
