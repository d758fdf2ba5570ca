/* SPDX-License-Identifier: MIT */
/* What ptrace-stat reports of a session or a log: attributes, status, counts, losses and rates, as text and as
 * JSON. */
#ifndef PTRC_SRC_SUMMARY_STAT_H
#define PTRC_SRC_SUMMARY_STAT_H

#include <stdbool.h>

#include "src/query/attributes.h"
#include "src/summary/event_types.h"
#include "src/query/losses.h"
#include "src/query/reader.h"
#include "src/session/session_protocol.h"

struct ptrc_stat {
	bool is_session;
	/* The name of the session, or the path of the log. */
	const char *thing;
	/* The label that the user gave to the log's host, or NULL. */
	const char *label;
	/* For a log: the open log. */
	trace_id_t trace;
	/* For a log, only has_log, attributes, status and counts are set. */
	struct ptrc_session_state state;
	struct ptrc_losses losses;
	/* The event types; owned, freed by ptrc_event_types_free(). */
	struct ptrc_event_types types;
};

/* Fills in the struct for a session. It then owns the types, and points to the name in the session's
 * state. */
void ptrc_stat_from_session(struct ptrc_stat *, const struct ptrc_session_state *,
			    const struct ptrc_event_types *);

/* Reads a log to its end, and fills in the struct, which then points to the path of the reader. */
void ptrc_stat_from_log(struct ptrc_stat *, struct ptrc_reader *);

/* Appends text for people. Times are local, unless is_utc. */
void ptrc_stat_put_text(struct ptrc_buffer *, const struct ptrc_stat *, bool is_utc);
/* Appends a JSON object on one line. */
void ptrc_stat_put_json(struct ptrc_buffer *, const struct ptrc_stat *);

#endif
