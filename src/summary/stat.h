/* SPDX-License-Identifier: MIT */
/*
 * Attributes, status, counts, losses and rates of a session or a log. They are gathered
 * once, and a table of fields puts them as text and as JSON.
 */
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
	bool has_log;
	/* The name of the session, or the path of the log. */
	const char *thing;
	/* What the user calls the host of the log, or null. */
	const char *label;
	/* The open log. */
	trace_id_t trace;
	/* These belong to a session and are unused for a log. */
	int32_t controller;
	int32_t target;
	uint32_t is_target_alive;
	uint32_t is_until_exit;
	const char *log;
	struct ptrc_snapshots_state snapshots;
	struct ptrc_attributes attributes;
	struct posix_trace_status_info status;
	struct ptrc_counts counts;
	struct ptrc_losses losses;
	/* How long a session has been running, in nanoseconds. */
	uint64_t running_ns;
	/* The stat owns them. */
	struct ptrc_event_types types;
};

/* Fills in the stat of a session. The stat points into the state, which has to stay, and
 * from now on owns the types. */
void ptrc_stat_from_session(struct ptrc_stat *, const struct ptrc_session_state *,
			    const struct ptrc_event_types *);

/* Reads a log to its end and fills in its stat. The stat points to the reader's path. */
void ptrc_stat_from_log(struct ptrc_stat *, struct ptrc_reader *);

void ptrc_stat_free(struct ptrc_stat *);

/* Puts text for people; times are local unless is_utc. */
void ptrc_stat_put_text(struct ptrc_buffer *, const struct ptrc_stat *, bool is_utc);
/* Puts a JSON object, in one line. */
void ptrc_stat_put_json(struct ptrc_buffer *, const struct ptrc_stat *);

#endif
