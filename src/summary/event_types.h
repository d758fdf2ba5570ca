/* SPDX-License-Identifier: MIT */
/*
 * The event types of a session or a log, with how often they were seen.
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
	/* Of a session. */
	bool is_filtered;
	/* Otherwise the name is made up from the number. */
	bool is_known;
	uint64_t count;
	/* Of data. */
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
	/* Sums. */
	uint64_t event_count;
	uint64_t event_bytes;
	/* Of a log with events: times of the first and the last one. */
	struct timespec first;
	struct timespec last;
};

/* An error of ptrc_session_ask(); nothing is to be freed then. */
int ptrc_event_types_from_session(struct ptrc_event_types *, const char *name);

/* Reads the log to its end, if counts are wanted. */
void ptrc_event_types_from_log(struct ptrc_event_types *, struct ptrc_reader *,
			       bool is_counting);

void ptrc_event_types_free(struct ptrc_event_types *);

bool ptrc_event_type_is_system(const struct ptrc_event_type *);

/* The head of a table, and a line of it. */
void ptrc_event_types_put_head(struct ptrc_buffer *);
void ptrc_event_type_put_text(struct ptrc_buffer *, const struct ptrc_event_type *);

/* Members of the object that is open. */
void ptrc_event_type_put_json(struct ptrc_json *, const struct ptrc_event_type *);

#endif
