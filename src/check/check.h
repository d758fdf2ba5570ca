/* SPDX-License-Identifier: MIT */
/* Judges logs by rules. The events of the logs are read in order of time. Then the logs are read a second
 * time, for the events that show what is wrong. */
#ifndef PTRC_SRC_CHECK_CHECK_H
#define PTRC_SRC_CHECK_CHECK_H

#include <stdbool.h>

#include "src/check/judge.h"
#include "src/base/cli.h"
#include "src/base/exit_status.h"
#include "src/query/query.h"
#include "src/spans/pairs.h"

struct ptrc_check {
	struct ptrc_rules *rules;
	struct ptrc_judge judge;
	/* Only for messages: the event types of rules that pair events by thread. If a field of both events of a pair
	 * shows that pairing by thread is wrong, a message proposes this field as the key `by`. */
	struct ptrc_pairs pairs;
	/* Reads the logs, which are its sources. */
	struct ptrc_query *query;
	/* The values of --clock-sync; NULL if the option was not given. */
	const struct ptrc_cli_texts *messages;
	/* The time of the event that was taken last, in nanoseconds since 1970; INT64_MIN before the first event. */
	int64_t last_ns;
	/* The number of events with an earlier time than the event before them. */
	uint64_t backwards;
	bool is_utc;
};

/* Lets the query pass its events to the check. The caller has opened the query's sources and has
 * called ptrc_rules_bind_again(). */
void ptrc_check_begin(struct ptrc_check *, struct ptrc_rules *, struct ptrc_query *);

/* Reads the logs and decides the rules. Returns the exit status. Does not report losses; for that,
 * the caller calls ptrc_query_tell(). */
enum ptrc_exit ptrc_check_judge(struct ptrc_check *);

/* Prints messages about clocks that are too inexact for a rule, and about times that go backwards. */
void ptrc_check_report_times(const struct ptrc_check *);

#endif
