/* SPDX-License-Identifier: MIT */
/* The attributes, status, counts, losses and rates of a session or a log, as text and as JSON. */
#ifndef PTRC_SRC_SUMMARY_STAT_H
#define PTRC_SRC_SUMMARY_STAT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/query/attributes.h"
#include "src/summary/event_types.h"
#include "src/query/losses.h"
#include "src/query/reader.h"
#include "src/session/session_protocol.h"

struct ptrc_stat {
	bool is_session;
	/* The name of the session, or the path of the log. */
	const char *thing;
	/* The label of the log's host; NULL: none. */
	const char *label;
	/* The open log. */
	trace_id_t trace;
	/* For a log, only has_log, attributes, status and counts are set. */
	struct ptrc_session_state state;
	struct ptrc_losses losses;
	/* Owned by the stat: ptrc_event_types_free() frees them. */
	struct ptrc_event_types types;
};

/* Fills in the stat of a session, which owns the types afterwards and points to the state's name. */
void ptrc_stat_from_session(struct ptrc_stat *, const struct ptrc_session_state *,
			    const struct ptrc_event_types *);

/* Reads a log to its end and fills in its stat, which points to the reader's path. */
void ptrc_stat_from_log(struct ptrc_stat *, struct ptrc_reader *);

/* Puts text for people. Times are local unless is_utc. */
void ptrc_stat_put_text(struct ptrc_buffer *, const struct ptrc_stat *, bool is_utc);
/* Puts a JSON object on one line. */
void ptrc_stat_put_json(struct ptrc_buffer *, const struct ptrc_stat *);

#endif
