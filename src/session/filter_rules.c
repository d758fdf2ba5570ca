/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/filter_rules.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "src/cli/cli.h"
#include "src/cli/output.h"
#include "src/view/reader.h"

enum {
	IDS = PTRC_READER_IDS,
	GLOBS_MAX = 1024,
	/* A page that begins at this number or a higher one begins with a glob. */
	GLOBS_FROM = 1 << 20,
};

bool ptrc_filter_rules_is_glob(const char *text)
{
	return strpbrk(text, "*?[\\");
}

void ptrc_filter_rules_clear(struct ptrc_filter_rules *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->globs[i].text);
	free(r->globs);
	memset(r, 0, sizeof(*r));
}

/* The index of the glob, or .count. */
static size_t find_glob(const struct ptrc_filter_rules *r, const char *text)
{
	size_t i = 0;

	while (i < r->count && strcmp(r->globs[i].text, text))
		i++;
	return i;
}

static void add_glob(struct ptrc_filter_rules *r, const char *text)
{
	char *copy;

	if (find_glob(r, text) < r->count)
		return;
	copy = strdup(text);
	if (!copy)
		ptrc_cli_no_memory();
	r->globs = ptrc_cli_reallocate(r->globs, (r->count + 1) * sizeof(*r->globs));
	r->globs[r->count++] = (struct ptrc_filter_glob){.text = copy};
}

static void remove_glob(struct ptrc_filter_rules *r, const char *text)
{
	size_t i = find_glob(r, text);

	if (i == r->count)
		return;
	free(r->globs[i].text);
	r->globs[i] = r->globs[--r->count];
}

/* ---- a change ---- */

/* The event types of the stream, followed by the names that the change will register. They are
 * loaded once, because every text of a request is compared with them. */
struct known {
	size_t count;
	size_t new_count;
	trace_event_id_t ids[IDS];
	char names[IDS][TRACE_EVENT_NAME_MAX + 1];
};

static int load_known(trace_id_t trace, struct known *k)
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

/* Adds to the set the event types that the text means. Returns false if there are none. */
static bool find(const struct known *k, const char *text, trace_event_set_t *set)
{
	bool is_glob = ptrc_filter_rules_is_glob(text);
	bool is_known = false;

	for (size_t i = 0; i < k->count; i++)
		if (is_glob ? !fnmatch(text, k->names[i], 0) : !strcmp(text, k->names[i])) {
			posix_trace_eventset_add(k->ids[i], set);
			is_known = true;
		}
	return is_known;
}

/* Notes a name that will be registered. Returns false if there is no room for it. */
static bool note_new(struct known *k, const char *text)
{
	size_t end = k->count + k->new_count;

	for (size_t i = k->count; i < end; i++)
		if (!strcmp(text, k->names[i]))
			return true;
	/* One place fewer, because no event type has the identifier 0. */
	if (end >= IDS - 1)
		return false;
	strcpy(k->names[end], text);
	k->new_count++;
	return true;
}

/* Looks at all texts before anything is changed, because a name stays registered for good. */
static int check(struct known *k, const struct ptrc_filter_rules *r, uint32_t flags,
		 const char *texts, size_t size, trace_event_set_t *set, uint32_t *culprit)
{
	size_t globs = flags & PTRC_SESSION_FILTER_SET ? 0 : r->count;
	bool is_new = flags & PTRC_SESSION_FILTER_NEW;

	*culprit = 0;
	for (const char *t = texts; t < texts + size; t += strlen(t) + 1) {
		bool is_glob = ptrc_filter_rules_is_glob(t);
		bool is_known;

		if (!*t)
			return EINVAL;
		if (strlen(t) > TRACE_EVENT_NAME_MAX)
			return ENAMETOOLONG;
		is_known = find(k, t, set);
		if (!is_known && !is_new &&
		    !(flags & PTRC_SESSION_FILTER_REMOVE && find_glob(r, t) < r->count))
			return ENOENT;
		if (is_new && is_glob && ++globs > GLOBS_MAX)
			return ENOSPC;
		if (is_new && !is_glob && !is_known && !note_new(k, t))
			return ENOSPC;
		++*culprit;
	}
	return 0;
}

/* Registers the new names. The filter is changed only afterwards: a program may have taken the
 * last place since check(). */
static int open_names(trace_id_t trace, const struct known *k, const char *texts, size_t size,
		      trace_event_set_t *set, uint32_t *culprit)
{
	*culprit = 0;
	for (const char *t = texts; t < texts + size; t += strlen(t) + 1) {
		trace_event_id_t id;
		int error = 0;

		if (!ptrc_filter_rules_is_glob(t) && !find(k, t, set)) {
			error = posix_trace_trid_eventid_open(trace, t, &id);
			/* Every name for which there is no room gets this identifier. */
			if (!error && id == POSIX_TRACE_UNNAMED_USEREVENT)
				error = ENOSPC;
			if (!error)
				error = posix_trace_eventset_add(id, set);
		}
		if (error)
			return error;
		++*culprit;
	}
	return 0;
}

static void change_globs(struct ptrc_filter_rules *r, uint32_t flags, const char *texts,
			 size_t size)
{
	if (flags & PTRC_SESSION_FILTER_SET ||
	    (flags & PTRC_SESSION_FILTER_REMOVE && flags & PTRC_SESSION_FILTER_ALL))
		ptrc_filter_rules_clear(r);
	for (const char *t = texts; t < texts + size; t += strlen(t) + 1) {
		if (flags & PTRC_SESSION_FILTER_REMOVE)
			remove_glob(r, t);
		else if (flags & PTRC_SESSION_FILTER_NEW && ptrc_filter_rules_is_glob(t))
			add_glob(r, t);
	}
}

/* Returns the operation for posix_trace_set_filter(), or 0 if the flags do not name exactly one
 * action. */
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

int ptrc_filter_rules_change(struct ptrc_filter_rules *r, trace_id_t trace, uint32_t flags,
			     const char *texts, size_t size, uint32_t *culprit)
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
		error = load_known(trace, known);
	if (!error)
		error = check(known, r, flags, texts, size, &set, culprit);
	if (!error && flags & PTRC_SESSION_FILTER_NEW)
		error = open_names(trace, known, texts, size, &set, culprit);
	free(known);
	if (!error)
		error = posix_trace_set_filter(trace, &set, how);
	if (error)
		return error;
	change_globs(r, flags, texts, size);
	/* The new globs match only event types that are in the filter already. This call notes
	 * up to where in the list they have been compared. */
	ptrc_filter_rules_refresh(r, trace);
	return 0;
}

int ptrc_filter_rules_apply(struct ptrc_filter_rules *r, trace_id_t trace, const char *const *texts,
			    size_t count)
{
	struct ptrc_buffer all = PTRC_BUFFER_INIT;
	uint32_t culprit;
	int error;

	if (!count)
		return 0;
	for (size_t i = 0; i < count; i++)
		ptrc_buffer_bytes(&all, texts[i], strlen(texts[i]) + 1);
	error = ptrc_filter_rules_change(r, trace,
					 PTRC_SESSION_FILTER_SET | PTRC_SESSION_FILTER_NEW,
					 all.bytes, all.used, &culprit);
	ptrc_buffer_free(&all);
	return error;
}

/* ---- names that are opened later ---- */

/* Whether the name matches a glob that has not been compared with this event type before. */
static bool is_match(const struct ptrc_filter_rules *r, size_t index, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->globs[i].judged <= index && !fnmatch(r->globs[i].text, name, 0))
			return true;
	return false;
}

static int add_matches(struct ptrc_filter_rules *r, trace_id_t trace, trace_event_set_t *set)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	size_t first = SIZE_MAX;
	size_t index = 0;
	trace_event_id_t id;
	int unavailable;
	/* The list has a single position, which another user may have moved past a new name. */
	int error = posix_trace_eventtypelist_rewind(trace);

	for (size_t i = 0; i < r->count; i++)
		if (r->globs[i].judged < first)
			first = r->globs[i].judged;
	for (; !error; index++) {
		error = posix_trace_eventtypelist_getnext_id(trace, &id, &unavailable);
		if (error || unavailable)
			break;
		if (index >= first && !posix_trace_eventid_get_name(trace, id, name) &&
		    is_match(r, index, name))
			error = posix_trace_eventset_add(id, set);
	}
	for (size_t i = 0; i < r->count && !error; i++)
		r->globs[i].judged = index;
	return error;
}

int ptrc_filter_rules_refresh(struct ptrc_filter_rules *r, trace_id_t trace)
{
	trace_event_set_t before;
	trace_event_set_t after;
	int error;

	if (!r->count)
		return 0;
	error = posix_trace_get_filter(trace, &before);
	after = before;
	if (!error)
		error = add_matches(r, trace, &after);
	/* A set has no pointers and no padding: the same members are the same bytes. */
	if (!error && memcmp(&before, &after, sizeof(after)))
		error = posix_trace_set_filter(trace, &after, POSIX_TRACE_SET_EVENTSET);
	return error;
}

/* ---- the answer to TYPES ---- */

/* Appends a record and its name to the page. Returns false if the page is full. */
static bool put_record(struct ptrc_session_reply *reply,
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

/* Appends event types until the page is full. Returns the position in the list of the first
 * event type that found no room, or 0 if all of them did. */
static uint32_t put_types(trace_id_t trace, const trace_event_set_t *filter, uint32_t from,
			  struct ptrc_session_reply *reply)
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

		if (posix_trace_eventtypelist_getnext_id(trace, &id, &unavailable) || unavailable)
			return 0;
		if (at < from || id >= IDS || posix_trace_eventid_get_name(trace, id, name))
			continue;
		record.id = id;
		record.name_size = (uint16_t)strlen(name);
		record.is_filtered = is_member(id, filter);
		record.events = counts[id].pt_events;
		record.bytes = counts[id].pt_bytes;
		record.truncated = counts[id].pt_truncated;
		if (!put_record(reply, &record, name))
			return at;
	}
}

/* Appends globs until the page is full. Returns the index of the first glob that found no room,
 * or .count. */
static size_t put_globs(const struct ptrc_filter_rules *rules, size_t from,
			struct ptrc_session_reply *reply)
{
	size_t i = from;

	for (; i < rules->count; i++) {
		const char *text = rules->globs[i].text;
		const struct ptrc_session_type_record record = {
			.name_size = (uint16_t)strlen(text),
			.is_filtered = 1,
		};

		if (!put_record(reply, &record, text))
			break;
	}
	return i;
}

int ptrc_filter_rules_page(const struct ptrc_filter_rules *rules, trace_id_t trace, uint32_t from,
			   struct ptrc_session_reply *reply)
{
	trace_event_set_t filter;
	uint32_t at;
	size_t glob;
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
	glob = put_globs(rules, from - GLOBS_FROM, reply);
	if (glob < rules->count)
		reply->next = GLOBS_FROM + (uint32_t)glob;
	return 0;
}
