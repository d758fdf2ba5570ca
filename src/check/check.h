/* SPDX-License-Identifier: MIT */
/* Judges logs by rules: reads their events, merged by time, and afterwards those once more that show
 * what is wrong. */
#ifndef PTRC_SRC_CHECK_CHECK_H
#define PTRC_SRC_CHECK_CHECK_H

#include <stdbool.h>

#include "src/check/judge.h"
#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/query/query.h"

struct ptrc_check {
	struct ptrc_rules *rules;
	struct ptrc_judge judge;
	/* Its sources are the logs. */
	struct ptrc_query *query;
	/* By which messages clocks were compared, as the user has said; null: by none. */
	const struct ptrc_cli_texts *messages;
	/* The time of the event that came last. */
	int64_t last_ns;
	/* Events whose time is before that of the event before them. */
	uint64_t backwards;
	/* Times that are shown are UTC. */
	bool is_utc;
};

/* Lets the events of the query, whose sources are open, be judged by rules that are bound to what these tell. */
void ptrc_check_begin(struct ptrc_check *, struct ptrc_rules *, struct ptrc_query *);

/* Reads the logs and decides the rules. Returns the exit status. ptrc_query_tell() then says what is missing. */
enum ptrc_exit ptrc_check_judge(struct ptrc_check *);

/* Prints messages on times that are too uncertain, or go backwards. */
void ptrc_check_report_times(const struct ptrc_check *);

void ptrc_check_free(struct ptrc_check *);

#endif
