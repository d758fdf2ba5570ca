/* SPDX-License-Identifier: MIT */
/*
 * The event types of a session or a log, with the numbers of their events.
 */
#ifndef PTRC_SRC_SUMMARY_EVENT_TYPES_H
#define PTRC_SRC_SUMMARY_EVENT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <trace.h>

#include "src/cli/json.h"
#include "src/view/reader.h"

struct ptrc_event_type {
	trace_event_id_t id;
	/* The session's filter leaves the type out; false for a log. */
	bool is_filtered;
	/* The name is known; otherwise it is made of the number. */
	bool is_known;
	uint64_t count;
	/* The sum of the sizes of their data. */
	uint64_t bytes;
	uint64_t truncated;
	size_t name_size;
	char *name;
};

/* Starts zeroed. */
struct ptrc_event_types {
	/* In the order of their identifiers. */
	struct ptrc_event_type *list;
	size_t count;
	/* The sums over all types. */
	uint64_t event_count;
	uint64_t event_bytes;
	/* The times of the first and the last event, if a log has events. */
	struct timespec first;
	struct timespec last;
};

/* Asks a session for its types. Returns an error of ptrc_session_ask(), and then leaves
 * nothing to be freed. */
int ptrc_event_types_from_session(struct ptrc_event_types *, const char *name);

/* Takes the types of a log; counts their events, which reads it to its end, only on
 * request. */
void ptrc_event_types_from_log(struct ptrc_event_types *, struct ptrc_reader *, bool is_counting);

void ptrc_event_types_free(struct ptrc_event_types *);

/* Put the head of a table, and a line of it. */
void ptrc_event_types_put_head(struct ptrc_buffer *);
void ptrc_event_type_put_text(struct ptrc_buffer *, const struct ptrc_event_type *);

/* Puts members of the open object. */
void ptrc_event_type_put_json(struct ptrc_json *, const struct ptrc_event_type *);

#endif
