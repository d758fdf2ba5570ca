/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/filter_rules.h"

#include <errno.h>
#include <posixtrace-control.h>

#include "lib/model/glob.h"
#include "src/base/scope.h"
#include "src/query/reader.h"

enum { IDS = PTRC_READER_IDS };

struct patterns {
	size_t count;
	struct posixtrace_pattern list[POSIXTRACE_PATTERNS_MAX];
};

static int load_patterns(trace_id_t trace, struct patterns *p)
{
	return posixtrace_get_patterns(trace, p->list, POSIXTRACE_PATTERNS_MAX, &p->count);
}

static bool has_pattern(const struct patterns *p, int how, const char *text)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].pt_how == how && !strcmp(p->list[i].pt_glob, text))
			return true;
	return false;
}

/* Adds the pattern unless the list has it already. Returns false if the list is full. */
static bool add_pattern(struct patterns *p, int how, const char *text)
{
	if (has_pattern(p, how, text))
		return true;
	if (p->count == POSIXTRACE_PATTERNS_MAX)
		return false;
	p->list[p->count] = (struct posixtrace_pattern){.pt_how = how};
	strcpy(p->list[p->count++].pt_glob, text);
	return true;
}

/* Removes a pattern of --exclude. Without a pattern of --only other events would be filtered out than before. */
static void remove_pattern(struct patterns *p, const char *text)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].pt_how != POSIXTRACE_EXCLUDE ||
		    strcmp(p->list[i].pt_glob, text) != 0)
			p->list[kept++] = p->list[i];
	p->count = kept;
}

/* ---- the request FILTER ---- */

/* Adds to the set the stream's event types whose names match the text. Returns false if no name does. */
static bool find(trace_id_t trace, const char *text, trace_event_set_t *set)
{
	bool is_glob = ptrc_filter_rules_is_glob(text);
	char name[TRACE_EVENT_NAME_MAX + 1];
	bool is_known = false;
	trace_event_id_t id;

	posix_trace_eventtypelist_rewind(trace);
	while (ptrc_next_type(trace, &id))
		if (!posix_trace_eventid_get_name(trace, id, name) &&
		    (is_glob ? ptrc_glob_matches(text, name) : !strcmp(text, name))) {
			posix_trace_eventset_add(id, set);
			is_known = true;
		}
	return is_known;
}

static int check_text(const char *text)
{
	if (!*text)
		return EINVAL;
	return strlen(text) > TRACE_EVENT_NAME_MAX ? ENAMETOOLONG : 0;
}

static int take_text(trace_id_t trace, struct patterns *p, uint32_t flags, const char *text,
		     trace_event_set_t *set)
{
	bool is_new = flags & PTRC_SESSION_FILTER_NEW;
	bool is_removed = flags & PTRC_SESSION_FILTER_REMOVE;
	int error = check_text(text);

	if (error)
		return error;
	if (!find(trace, text, set) && !is_new &&
	    !(is_removed && has_pattern(p, POSIXTRACE_EXCLUDE, text)))
		return ENOENT;
	if (is_removed)
		remove_pattern(p, text);
	else if (is_new && !add_pattern(p, POSIXTRACE_EXCLUDE, text))
		return ENOSPC;
	return 0;
}

/* Returns the operation for posix_trace_set_filter(), or 0 if the flags do not name exactly one. */
static int operation(uint32_t flags)
{
	switch (flags &
		(PTRC_SESSION_FILTER_SET | PTRC_SESSION_FILTER_ADD | PTRC_SESSION_FILTER_REMOVE)) {
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

/* Replaces the stream's patterns. The first letter of each text says what kind of pattern it is. */
static int replace_patterns(trace_id_t trace, const char *texts, size_t size, uint32_t *culprit)
{
	static struct patterns p;

	p.count = 0;
	for (const char *t = texts; t < texts + size; t += strlen(t) + 1) {
		int how = *t == PTRC_SESSION_PATTERN_ONLY      ? POSIXTRACE_ONLY
			  : *t == PTRC_SESSION_PATTERN_EXCLUDE ? POSIXTRACE_EXCLUDE
							       : 0;
		int error = how ? check_text(t + 1) : EINVAL;

		if (error || !add_pattern(&p, how, t + 1))
			return error ?: ENOSPC;
		++*culprit;
	}
	return posixtrace_set_patterns(trace, p.list, p.count);
}

int ptrc_filter_rules_change(trace_id_t trace, uint32_t flags, const char *texts, size_t size,
			     uint32_t *culprit)
{
	static struct patterns patterns;
	trace_event_set_t set;
	int how = operation(flags);
	int error;

	*culprit = 0;
	if (size && texts[size - 1])
		return EINVAL;
	if (flags == PTRC_SESSION_FILTER_PATTERNS)
		return replace_patterns(trace, texts, size, culprit);
	if (!how || flags & PTRC_SESSION_FILTER_PATTERNS)
		return EINVAL;
	if (flags & PTRC_SESSION_FILTER_SYSTEM)
		error = posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS);
	else
		error = posix_trace_eventset_empty(&set);
	error = error ?: load_patterns(trace, &patterns);
	if (error)
		return error;
	if (flags & PTRC_SESSION_FILTER_SET ||
	    (flags & PTRC_SESSION_FILTER_REMOVE && flags & PTRC_SESSION_FILTER_ALL))
		patterns.count = 0;
	for (const char *t = texts; t < texts + size; t += strlen(t) + 1) {
		error = take_text(trace, &patterns, flags, t, &set);
		if (error)
			return error;
		++*culprit;
	}
	if (flags & PTRC_SESSION_FILTER_ALL)
		error = take_text(trace, &patterns, flags | PTRC_SESSION_FILTER_NEW, "*", &set);
	if (error)
		return error;
	/* The filter is set first: posix_trace_set_filter() exempts the types that it leaves out of the filter from the
	 * present patterns. A type that a program opens between the two calls must not be exempt from the new ones. */
	return posix_trace_set_filter(trace, &set, how)
		       ?: posixtrace_set_patterns(trace, patterns.list, patterns.count);
}

/* ---- the answer to TYPES ---- */

/* A page: the records from number .from on, as many as fit into the reply. Event types have the numbers from 0 on,
 * and their list only grows; patterns have the numbers from IDS on. So an event type keeps its number when a
 * pattern is added or removed between two pages. */
struct page {
	struct ptrc_session_reply *reply;
	uint32_t from;
	uint32_t number;
};

/* Counts a record. Returns whether it belongs to an earlier page. */
static bool is_before(struct page *p)
{
	return p->number++ < p->from;
}

/* Appends the record that is_before() has just counted. Returns false if the page is full. */
static bool put_record(struct page *p, const struct ptrc_session_type_record *record,
		       const char *name, const char *layout)
{
	struct ptrc_session_reply *reply = p->reply;
	size_t size =
		ptrc_session_padded(sizeof(*record) + record->name_size + record->layout_size);
	unsigned char *at = reply->page + reply->size;

	if (sizeof(reply->page) - reply->size < size) {
		reply->next = p->number - 1;
		return false;
	}
	memset(at + size - 8, 0, 8);
	memcpy(at, record, sizeof(*record));
	memcpy(at + sizeof(*record), name, record->name_size);
	memcpy(at + sizeof(*record) + record->name_size, layout, record->layout_size);
	reply->size += (uint32_t)size;
	return true;
}

/* Appends the records of the event types from number .from on. Returns false if the page is full. */
static bool put_types(trace_id_t trace, const trace_event_set_t *filter, struct page *p)
{
	PTRC_SCOPED struct posixtrace_type_count *counts = ptrc_type_counts(trace);
	char name[TRACE_EVENT_NAME_MAX + 1], layout[POSIXTRACE_LAYOUT_MAX + 1];
	struct ptrc_session_type_record record;
	trace_event_id_t id;
	bool is_full = false;

	posix_trace_eventtypelist_rewind(trace);
	while (!is_full && ptrc_next_type(trace, &id)) {
		if (is_before(p) || id >= IDS || posix_trace_eventid_get_name(trace, id, name))
			continue;
		record = (struct ptrc_session_type_record){
			.id = id,
			.name_size = (uint16_t)strlen(name),
			.is_filtered = ptrc_is_in_set(filter, id),
		};
		if (counts) {
			record.events = counts[id].pt_events;
			record.bytes = counts[id].pt_bytes;
			record.truncated = counts[id].pt_truncated;
		}
		if (!posixtrace_eventid_get_layout(trace, id, layout, sizeof(layout)))
			record.layout_size = strlen(layout);
		is_full = !put_record(p, &record, name, layout);
	}
	return !is_full;
}

static bool put_pattern(struct page *p, const char *glob, enum ptrc_session_pattern kind,
			enum ptrc_snapshot_lack lack)
{
	const struct ptrc_session_type_record record = {
		.name_size = (uint16_t)strlen(glob),
		.is_filtered = (uint16_t)kind,
		.events = lack == PTRC_SNAPSHOT_LACKS_NOTHING,
		.bytes = lack,
	};

	return is_before(p) || put_record(p, &record, glob, "");
}

int ptrc_filter_rules_page(trace_id_t trace, struct ptrc_snapshots *snapshots, uint32_t from,
			   struct ptrc_session_reply *reply)
{
	static struct patterns patterns;
	struct page page = {.reply = reply, .from = from};
	trace_event_set_t filter;
	const char *glob;
	enum ptrc_snapshot_lack lack;
	int error = posix_trace_get_filter(trace, &filter) ?: load_patterns(trace, &patterns);

	reply->body = PTRC_SESSION_BODY_PAGE;
	if (error)
		return error;
	if (!put_types(trace, &filter, &page))
		return 0;
	page.number = IDS;
	for (size_t i = 0; i < patterns.count; i++)
		if (!put_pattern(&page, patterns.list[i].pt_glob,
				 patterns.list[i].pt_how == POSIXTRACE_EXCLUDE
					 ? PTRC_SESSION_PATTERN_IS_EXCLUDE
					 : PTRC_SESSION_PATTERN_IS_ONLY,
				 patterns.list[i].pt_has_matched ? PTRC_SNAPSHOT_LACKS_NOTHING
								 : PTRC_SNAPSHOT_LACKS_NAME))
			return 0;
	for (size_t i = 0; (glob = ptrc_snapshots_pattern(snapshots, i, &lack)); i++)
		if (!put_pattern(&page, glob, PTRC_SESSION_PATTERN_IS_SNAPSHOT, lack))
			return 0;
	return 0;
}
