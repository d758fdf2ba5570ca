/* SPDX-License-Identifier: MIT */
/* The event types of a session or a log, with the numbers of their events. */
#ifndef PTRC_SRC_SUMMARY_EVENT_TYPES_H
#define PTRC_SRC_SUMMARY_EVENT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "src/base/json.h"
#include "src/session/session_client.h"
#include "src/query/reader.h"

struct ptrc_event_types {
	/* The event types, sorted by identifier. Those of a log are never marked as filtered. */
	struct ptrc_session_type *list;
	size_t count;
	/* The sums over all types. */
	uint64_t event_count;
	uint64_t event_bytes;
	uint64_t truncated_count; /* events whose data was cut */
	/* The times of the first and the last event of a log; unused for a session. */
	struct timespec first;
	struct timespec last;
};

/* Asks a session for its event types. Returns 0, or an error of ptrc_session_ask(); after an error there is
 * nothing to free. */
int ptrc_event_types_from_session(struct ptrc_event_types *, const char *name);

/* Takes the event types of a log. Counts their events only if is_counting, because that may mean reading the log
 * to its end. */
void ptrc_event_types_from_log(struct ptrc_event_types *, struct ptrc_reader *, bool is_counting);

/* Takes the event types of an active trace, and counts their events. */
void ptrc_event_types_from_trace(struct ptrc_event_types *, trace_id_t);

void ptrc_event_types_free(struct ptrc_event_types *);

/* Whether the type has events or was opened by a program. */
static inline bool ptrc_event_type_is_used(const struct ptrc_session_type *type)
{
	return type->events || type->id > POSIX_TRACE_UNNAMED_USEREVENT;
}

/* Append the head of the table of event types, and a row for a type. */
void ptrc_event_types_put_head(struct ptrc_buffer *);
void ptrc_event_type_put_text(struct ptrc_buffer *, const struct ptrc_session_type *);

/* Puts an event type as members of the open JSON object. */
void ptrc_event_type_put_json(struct ptrc_json *, const struct ptrc_session_type *);

/* Append a table of the types that are used, or put them as a JSON array. has_filtered: the array
 * also has, for each type, whether the filter leaves it out. */
void ptrc_event_types_put_text(struct ptrc_buffer *, const struct ptrc_event_types *);
void ptrc_event_types_json(struct ptrc_json *, const char *key, const struct ptrc_event_types *,
			   bool has_filtered);

/* Whether an operand may be the name of a session: it has no / and is not "-", which is standard input. */
bool ptrc_summary_is_session_name(const char *operand);

/* Opens the log that an operand names. Called if no session has this name. On failure returns false after a
 * message, which may say that a session of this name was killed. */
bool ptrc_summary_open_log(struct ptrc_reader *, const char *operand);

#endif
