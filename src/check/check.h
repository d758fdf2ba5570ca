/* SPDX-License-Identifier: MIT */
/* Judges logs by rules: reads their events in order of time, and afterwards reads once more those that show
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
	/* The values of --clock-sync; NULL: none. */
	const struct ptrc_cli_texts *messages;
	/* The time of the last event. */
	int64_t last_ns;
	/* Events with an earlier time than the event before them. */
	uint64_t backwards;
	/* Show times in UTC, not local time. */
	bool is_utc;
};

/* Makes the check the sink of the query. The query's sources are open, and the rules are bound again. */
void ptrc_check_begin(struct ptrc_check *, struct ptrc_rules *, struct ptrc_query *);

/* Reads the logs and decides the rules. Returns the exit status. Losses are left for ptrc_query_tell() to report. */
enum ptrc_exit ptrc_check_judge(struct ptrc_check *);

/* Prints messages about clocks that are too inexact for a rule, and about times that go backwards. */
void ptrc_check_report_times(const struct ptrc_check *);

#endif
