/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/session/session_types.h"

#include <string.h>

enum {
	IDS = PTRC_READER_IDS,
	/* A page that begins here, or behind, begins with a glob. */
	GLOBS_FROM = 1 << 20,
};

/* Returns false if the page is full. */
static bool put(struct ptrc_session_reply *reply, const struct ptrc_session_type_record *record,
		const char *name)
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

/* Puts event types as long as there is room; returns the position in the list of the first
 * without, or 0. */
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
		if (!put(reply, &record, name))
			return at;
	}
}

/* Puts globs as long as there is room; returns the index of the first without, or .count. */
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

		if (!put(reply, &record, text))
			break;
	}
	return i;
}

int ptrc_session_types_page(trace_id_t trace, const struct ptrc_filter_rules *rules, uint32_t from,
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
