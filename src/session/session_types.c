/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_types.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum {
	IDS = PTRC_READER_IDS,
	/* Of globs that are kept. */
	GLOBS_MAX = 256,
	/* Positions of globs in the pages. */
	GLOBS_FROM = 1 << 20,
};

/* ---- pages ---- */

/* False if the page is full. */
static bool put(struct ptrc_session_reply *reply,
		const struct ptrc_session_type_record *record, const char *name)
{
	size_t size = ptrc_session_padded(sizeof(*record) + record->name_size);

	if (sizeof(reply->page) - reply->size < size)
		return false;
	memset(reply->page + reply->size + size - 8, 0, 8);
	memcpy(reply->page + reply->size, record, sizeof(*record));
	memcpy(reply->page + reply->size + sizeof(*record), name, record->name_size);
	reply->size += (uint32_t)size;
	return true;
}

static bool is_member(trace_event_id_t id, const trace_event_set_t *set)
{
	int is = 0;

	return !posix_trace_eventset_ismember(id, set, &is) && is;
}

/* Puts event types as long as there is room; returns the position of the first without,
 * or 0. */
static uint32_t put_types(trace_id_t trace, const trace_event_set_t *filter,
			  uint32_t from, struct ptrc_session_reply *reply)
{
	static struct posixtrace_type_count counts[IDS];
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;
	int unavailable;

	if (posixtrace_get_type_counts(trace, counts, IDS))
		memset(counts, 0, sizeof(counts));
	posix_trace_eventtypelist_rewind(trace);
	for (uint32_t at = 0;; at++) {
		struct ptrc_session_type_record record = {0};

		if (posix_trace_eventtypelist_getnext_id(trace, &id, &unavailable) ||
		    unavailable)
			return 0;
		if (at < from || id >= IDS ||
		    posix_trace_eventid_get_name(trace, id, name))
			continue;
		record.id = id;
		record.name_size = (uint16_t)strlen(name);
		record.is_filtered = is_member(id, filter);
		record.events = counts[id].pt_events;
		record.bytes = counts[id].pt_bytes;
		record.truncated = counts[id].pt_truncated;
		if (!put(reply, &record, name))
			return at;
	}
}

static uint32_t put_globs(const struct ptrc_filter_rules *rules, uint32_t from,
			  struct ptrc_session_reply *reply)
{
	for (size_t i = from; i < rules->count; i++) {
		const char *text = rules->rules[i].text;
		const struct ptrc_session_type_record record = {
			.name_size = (uint16_t)strlen(text),
			.is_filtered = 1,
		};

		if (ptrc_filter_rules_is_glob(text) && !put(reply, &record, text))
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

int ptrc_session_types_page(trace_id_t trace, const struct ptrc_filter_rules *rules,
			    uint32_t from, struct ptrc_session_reply *reply)
{
	trace_event_set_t filter;
	uint32_t at = 0;
	int error = posix_trace_get_filter(trace, &filter);

	reply->body = PTRC_SESSION_BODY_PAGE;
	if (error)
		return error;
	reply->is_all_filtered = 1;
	for (trace_event_id_t id = 1; id < IDS; id++)
		reply->is_all_filtered &= is_member(id, &filter);
	if (from < GLOBS_FROM) {
		at = put_types(trace, &filter, from, reply);
		if (at) {
			reply->next = at;
			return 0;
		}
		from = GLOBS_FROM;
	}
	at = put_globs(rules, from - GLOBS_FROM, reply);
	if (at != UINT32_MAX)
		reply->next = GLOBS_FROM + at;
	return 0;
}

/* ---- the filter ---- */

/* The names there are; a request may have many to be held against them. Behind them those
 * that the request adds. */
struct known {
	size_t count;
	size_t new_count;
	trace_event_id_t ids[IDS];
	char names[IDS][TRACE_EVENT_NAME_MAX + 1];
};

static int find_known(trace_id_t trace, struct known *k)
{
	int unavailable;
	int error = posix_trace_eventtypelist_rewind(trace);

	k->count = 0;
	k->new_count = 0;
	while (!error && k->count < IDS) {
		trace_event_id_t *id = &k->ids[k->count];

		error = posix_trace_eventtypelist_getnext_id(trace, id, &unavailable);
		if (error || unavailable)
			break;
		error = posix_trace_eventid_get_name(trace, *id, k->names[k->count]);
		k->count++;
	}
	return error;
}

/* Adds to the set what the text means; false if nothing knows it. */
static bool find(const struct known *k, const char *text, trace_event_set_t *set)
{
	bool is_glob = ptrc_filter_rules_is_glob(text);
	bool is_known = false;

	for (size_t i = 0; i < k->count; i++)
		if (is_glob ? !fnmatch(text, k->names[i], 0)
			    : !strcmp(text, k->names[i])) {
			posix_trace_eventset_add(k->ids[i], set);
			is_known = true;
		}
	return is_known;
}

/* A name that is to be registered; false if there is no place for it. */
static bool note_new(struct known *k, const char *text)
{
	size_t end = k->count + k->new_count;

	for (size_t i = k->count; i < end; i++)
		if (!strcmp(text, k->names[i]))
			return true;
	/* There is no identifier 0. */
	if (end >= IDS - 1)
		return false;
	strcpy(k->names[end], text);
	k->new_count++;
	return true;
}

static int register_name(trace_id_t trace, const char *name, trace_event_set_t *set)
{
	trace_event_id_t id;
	int error = posix_trace_trid_eventid_open(trace, name, &id);

	/* What a name gets for which there is no room. */
	if (!error && id == POSIX_TRACE_UNNAMED_USEREVENT)
		error = ENOSPC;
	return error ? error : posix_trace_eventset_add(id, set);
}

static bool is_kept(const struct ptrc_filter_rules *rules, const char *text)
{
	for (size_t i = 0; i < rules->count; i++)
		if (!strcmp(rules->rules[i].text, text))
			return ptrc_filter_rules_is_glob(text);
	return false;
}

static size_t count_globs(const struct ptrc_filter_rules *rules)
{
	size_t count = 0;

	for (size_t i = 0; i < rules->count; i++)
		count += ptrc_filter_rules_is_glob(rules->rules[i].text);
	return count;
}

/* Looks at all texts before anything is changed: names stay registered for good. */
static int look(struct known *k, const struct ptrc_filter_rules *rules, uint32_t flags,
		const char *texts, size_t size, trace_event_set_t *set,
		struct ptrc_session_reply *reply)
{
	size_t globs = flags & PTRC_SESSION_FILTER_SET ? 0 : count_globs(rules);

	reply->text = 0;
	for (const char *t = texts; t < texts + size; t += strlen(t) + 1) {
		bool is_new = flags & PTRC_SESSION_FILTER_NEW;
		bool is_glob = ptrc_filter_rules_is_glob(t);
		bool is_known;

		if (!*t)
			return EINVAL;
		if (strlen(t) > TRACE_EVENT_NAME_MAX)
			return ENAMETOOLONG;
		is_known = find(k, t, set);
		if (!is_known && !is_new &&
		    !(flags & PTRC_SESSION_FILTER_REMOVE && is_kept(rules, t)))
			return ENOENT;
		if (is_new && is_glob && ++globs > GLOBS_MAX)
			return ENOSPC;
		if (is_new && !is_glob && !is_known && !note_new(k, t))
			return ENOSPC;
		reply->text++;
	}
	return 0;
}

/* Registers the new names; before the filter is touched, as a program may have taken the
 * last place meanwhile. */
static int open_names(trace_id_t trace, const struct known *k, const char *texts,
		      size_t size, trace_event_set_t *set,
		      struct ptrc_session_reply *reply)
{
	int error = 0;

	reply->text = 0;
	for (const char *t = texts; t < texts + size && !error; t += strlen(t) + 1) {
		if (!ptrc_filter_rules_is_glob(t) && !find(k, t, set))
			error = register_name(trace, t, set);
		reply->text += !error;
	}
	return error;
}

/* What is kept for names that are still to be opened. */
static void change_rules(struct ptrc_filter_rules *rules, uint32_t flags,
			 const char *texts, size_t size)
{
	if (flags & PTRC_SESSION_FILTER_SET ||
	    (flags & PTRC_SESSION_FILTER_REMOVE && flags & PTRC_SESSION_FILTER_ALL))
		ptrc_filter_rules_clear(rules);
	for (const char *t = texts; t < texts + size; t += strlen(t) + 1) {
		if (flags & PTRC_SESSION_FILTER_REMOVE)
			ptrc_filter_rules_remove(rules, t);
		else if (flags & PTRC_SESSION_FILTER_NEW && ptrc_filter_rules_is_glob(t))
			ptrc_filter_rules_add(rules, t);
	}
}

/* What posix_trace_set_filter() is to do; 0 if the flags say no one thing. */
static int operation(uint32_t flags)
{
	switch (flags & (PTRC_SESSION_FILTER_SET | PTRC_SESSION_FILTER_ADD |
			 PTRC_SESSION_FILTER_REMOVE)) {
	case PTRC_SESSION_FILTER_SET:
		return POSIX_TRACE_SET_EVENTSET;
	case PTRC_SESSION_FILTER_ADD:
		return POSIX_TRACE_ADD_EVENTSET;
	case PTRC_SESSION_FILTER_REMOVE:
		return POSIX_TRACE_SUB_EVENTSET;
	default:
		return 0;
	}
}

int ptrc_session_types_filter(trace_id_t trace, struct ptrc_filter_rules *rules,
			      uint32_t flags, const char *texts, size_t size,
			      struct ptrc_session_reply *reply)
{
	trace_event_set_t set;
	struct known *known;
	int how = operation(flags);
	int error;

	if (!how || (size && texts[size - 1]))
		return EINVAL;
	if (flags & PTRC_SESSION_FILTER_ALL)
		error = posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS);
	else if (flags & PTRC_SESSION_FILTER_SYSTEM)
		error = posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS);
	else
		error = posix_trace_eventset_empty(&set);
	known = malloc(sizeof(*known));
	if (!known)
		return ENOMEM;
	if (!error)
		error = find_known(trace, known);
	if (!error)
		error = look(known, rules, flags, texts, size, &set, reply);
	if (!error && flags & PTRC_SESSION_FILTER_NEW)
		error = open_names(trace, known, texts, size, &set, reply);
	free(known);
	if (!error)
		error = posix_trace_set_filter(trace, &set, how);
	if (error)
		return error;
	change_rules(rules, flags, texts, size);
	/* New globs have been held against what there is just now. */
	ptrc_filter_rules_refresh(rules, trace);
	return 0;
}
