/* SPDX-License-Identifier: MIT */
/*
 * What is known of a session or a log, as text and as JSON: gathered once, rendered by a
 * table of fields.
 */
#ifndef PTRC_SRC_STAT_H
#define PTRC_SRC_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "src/attributes.h"
#include "src/losses.h"
#include "src/output.h"
#include "src/reader.h"
#include "src/session.h"

/* How often an event type was seen in a log. */
struct ptrc_stat_type {
	uint64_t count;
	uint64_t bytes;
	uint64_t truncated_count;
};

struct ptrc_stat {
	bool is_session;
	bool has_log;
	/* The session, or the log's path. */
	const char *thing;
	/* Of a session; for a log without meaning. */
	int32_t controller;
	int32_t target;
	uint32_t is_target_alive;
	uint32_t is_until_exit;
	const char *log;
	struct ptrc_attributes attributes;
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
	struct ptrc_losses losses;
	/* Of a log that was read: */
	uint64_t event_count;
	struct timespec first;
	struct timespec last;
	/* By event type, with the reader that knows the names; null for a session. */
	struct ptrc_reader *reader;
	struct ptrc_stat_type types[PTRC_READER_IDS];
};

/* The stat refers to the state, which has to stay. */
void ptrc_stat_from_session(struct ptrc_stat *, const struct ptrc_session_state *);

/* Reads the log to its end. The stat refers to the reader, which has to stay open. */
void ptrc_stat_from_log(struct ptrc_stat *, struct ptrc_reader *);

void ptrc_stat_put_text(struct ptrc_buffer *, const struct ptrc_stat *);
/* One line. */
void ptrc_stat_put_json(struct ptrc_buffer *, const struct ptrc_stat *);

#endif
