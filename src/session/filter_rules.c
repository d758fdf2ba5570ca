/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/filter_rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/cli.h"

bool ptrc_filter_rules_is_glob(const char *text)
{
	return strpbrk(text, "*?[\\");
}

static size_t find(const struct ptrc_filter_rules *r, const char *text)
{
	size_t i = 0;

	while (i < r->count && strcmp(r->rules[i].text, text))
		i++;
	return i;
}

void ptrc_filter_rules_add(struct ptrc_filter_rules *r, const char *text)
{
	char *copy;

	if (find(r, text) < r->count)
		return;
	copy = strdup(text);
	if (!copy)
		ptrc_cli_no_memory();
	r->rules = ptrc_cli_reallocate(r->rules, (r->count + 1) * sizeof(*r->rules));
	r->rules[r->count++] = (struct ptrc_filter_rule){.text = copy};
}

bool ptrc_filter_rules_remove(struct ptrc_filter_rules *r, const char *text)
{
	size_t i = find(r, text);

	if (i == r->count)
		return false;
	free(r->rules[i].text);
	r->rules[i] = r->rules[--r->count];
	return true;
}

void ptrc_filter_rules_clear(struct ptrc_filter_rules *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->rules[i].text);
	free(r->rules);
	memset(r, 0, sizeof(*r));
}

bool ptrc_filter_rules_is_empty(const struct ptrc_filter_rules *r)
{
	return !r->count && !r->is_system && !r->is_all;
}

bool ptrc_filter_rules_is_pending(const struct ptrc_filter_rules *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (ptrc_filter_rules_is_glob(r->rules[i].text))
			return true;
	return false;
}

/* Whether a glob matches that has not been held against this event type before. */
static bool is_match(const struct ptrc_filter_rules *r, size_t index, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->rules[i].judged <= index &&
		    ptrc_filter_rules_is_glob(r->rules[i].text) &&
		    !fnmatch(r->rules[i].text, name, 0))
			return true;
	return false;
}

static size_t first_unjudged(const struct ptrc_filter_rules *r)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < r->count; i++)
		if (r->rules[i].judged < first &&
		    ptrc_filter_rules_is_glob(r->rules[i].text))
			first = r->rules[i].judged;
	return first;
}

/* Puts into the set what the globs match and have not seen before. */
static int add_globs(struct ptrc_filter_rules *r, trace_id_t trace,
		     trace_event_set_t *set)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	size_t first = first_unjudged(r);
	size_t index = 0;
	trace_event_id_t id;
	int unavailable;
	int error;

	if (first == SIZE_MAX)
		return 0;
	/* Whoever else has used the list may have gone past a new name. */
	error = posix_trace_eventtypelist_rewind(trace);
	for (; !error; index++) {
		error = posix_trace_eventtypelist_getnext_id(trace, &id, &unavailable);
		if (error || unavailable)
			break;
		if (index >= first && !posix_trace_eventid_get_name(trace, id, name) &&
		    is_match(r, index, name))
			error = posix_trace_eventset_add(id, set);
	}
	for (size_t i = 0; i < r->count && !error; i++)
		r->rules[i].judged = index;
	return error;
}

/* Names stay registered for good: without room for all of them none is. */
static int check_room(const struct ptrc_filter_rules *r, trace_id_t trace)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	size_t types = 0;
	trace_event_id_t id;
	int unavailable;
	int error = posix_trace_eventtypelist_rewind(trace);

	for (size_t i = 0; i < r->count; i++)
		types += !ptrc_filter_rules_is_glob(r->rules[i].text);
	while (!error) {
		size_t rule;

		error = posix_trace_eventtypelist_getnext_id(trace, &id, &unavailable);
		if (error || unavailable)
			break;
		types += id >= POSIX_TRACE_UNNAMED_USEREVENT;
		rule = posix_trace_eventid_get_name(trace, id, name) ? r->count
								     : find(r, name);
		if (rule < r->count && !ptrc_filter_rules_is_glob(name))
			types--;
	}
	return error ? error : types > TRACE_USER_EVENT_MAX ? ENOSPC : 0;
}

static int add_names(const struct ptrc_filter_rules *r, trace_id_t trace,
		     trace_event_set_t *set)
{
	trace_event_id_t id;
	int error = 0;

	for (size_t i = 0; i < r->count && !error; i++) {
		if (ptrc_filter_rules_is_glob(r->rules[i].text))
			continue;
		error = posix_trace_trid_eventid_open(trace, r->rules[i].text, &id);
		/* Which is what names get that have no room; nobody meant to filter
		 * those all. */
		if (!error && id == POSIX_TRACE_UNNAMED_USEREVENT &&
		    strcmp(r->rules[i].text, "posix_trace_unnamed_userevent"))
			error = ENOSPC;
		if (!error)
			error = posix_trace_eventset_add(id, set);
	}
	return error;
}

int ptrc_filter_rules_apply(struct ptrc_filter_rules *r, trace_id_t trace)
{
	trace_event_set_t set;
	int error;

	if (ptrc_filter_rules_is_empty(r))
		return 0;
	if (r->is_all)
		error = posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS);
	else if (r->is_system)
		error = posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS);
	else
		error = posix_trace_eventset_empty(&set);
	if (!error)
		error = check_room(r, trace);
	if (!error)
		error = add_names(r, trace, &set);
	if (!error)
		error = add_globs(r, trace, &set);
	if (!error)
		error = posix_trace_set_filter(trace, &set, POSIX_TRACE_ADD_EVENTSET);
	return error;
}

int ptrc_filter_rules_refresh(struct ptrc_filter_rules *r, trace_id_t trace)
{
	trace_event_set_t before;
	trace_event_set_t after;
	int error;

	if (!ptrc_filter_rules_is_pending(r))
		return 0;
	error = posix_trace_get_filter(trace, &before);
	after = before;
	if (!error)
		error = add_globs(r, trace, &after);
	/* A set without pointers or holes, where the same members are the same bytes. */
	if (!error && memcmp(&before, &after, sizeof(after)))
		error = posix_trace_set_filter(trace, &after, POSIX_TRACE_SET_EVENTSET);
	return error;
}
