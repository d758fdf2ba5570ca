/* SPDX-License-Identifier: MIT */
/*
 * Which events a stream does not record, as users say it: names, globs, all system
 * events, all events.
 *
 * The filter of a stream is a set of event types, so a name is registered ahead, and a
 * glob has to be held against names as programs open them: whoever holds the stream
 * calls ptrc_filter_rules_refresh() every PTRC_FILTER_RULES_REFRESH_MS while
 * ptrc_filter_rules_is_pending(). Events of a new name may get through until then.
 */
#ifndef PTRC_SRC_SESSION_FILTER_RULES_H
#define PTRC_SRC_SESSION_FILTER_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include <trace.h>

enum { PTRC_FILTER_RULES_REFRESH_MS = 5 };

struct ptrc_filter_rule {
	/* A name or a glob, a copy. */
	char *text;
	/* How many of the stream's event types, in the order of its list, a glob has been
	 * held against: each once, so what somebody takes from the filter afterwards
	 * stays out of it. */
	size_t judged;
};

/* Starts zeroed. */
struct ptrc_filter_rules {
	struct ptrc_filter_rule *rules;
	size_t count;
	/* Every system event; every event. */
	bool is_system;
	bool is_all;
};

/* Whether the text is a glob, as fnmatch(3) has them, and not a plain name. */
bool ptrc_filter_rules_is_glob(const char *text);

/* Adds a name or a glob, of which it makes a copy; once is enough. */
void ptrc_filter_rules_add(struct ptrc_filter_rules *, const char *text);

/* Takes one out again; false if it was not there. */
bool ptrc_filter_rules_remove(struct ptrc_filter_rules *, const char *text);

/* As new; frees what it has. */
void ptrc_filter_rules_clear(struct ptrc_filter_rules *);

/* Nothing is to be filtered out. */
bool ptrc_filter_rules_is_empty(const struct ptrc_filter_rules *);

/* There are globs, which names that are still to be opened may match. */
bool ptrc_filter_rules_is_pending(const struct ptrc_filter_rules *);

/*
 * Adds to the filter of the stream all that the rules say now. An error number of
 * posix_trace_set_filter() or posix_trace_trid_eventid_open(), or
 *   ENOSPC  a name cannot be registered, as there are too many.
 */
int ptrc_filter_rules_apply(struct ptrc_filter_rules *, trace_id_t);

/*
 * The same for globs added and names opened since; touches the filter only if that
 * changes it.
 */
int ptrc_filter_rules_refresh(struct ptrc_filter_rules *, trace_id_t);

#endif
