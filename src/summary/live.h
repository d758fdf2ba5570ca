/* SPDX-License-Identifier: MIT */
/*
 * Live numbers of a session (ptrace-stat --watch): once in each interval a table, or a line of JSON, with the rates
 * of the event types, the losses and, if wanted, the durations of pairs.
 *
 * The session itself counts its events, so the cost of showing rates does not grow with the number of events. The
 * events themselves are read only if pairs are wanted.
 */
#ifndef PTRC_SRC_SUMMARY_LIVE_H
#define PTRC_SRC_SUMMARY_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/cli.h"
#include "src/query/query.h"
#include "src/spans/pairs.h"

struct ptrc_live {
	const char *session;
	int64_t interval_ns;
	enum ptrc_format format;
	bool is_utc;
	bool has_histogram;
	/* The patterns in its member .select choose the event types that are shown. */
	struct ptrc_query *query;
	/* The pairs, or NULL. If pairs are wanted, the source of the query follows the session. */
	struct ptrc_pairs *pairs;
};

/* The greatest value of .interval_ns, and the smallest. */
#define PTRC_LIVE_INTERVAL_MAX (INT64_C(24) * 3600 * 1000000000)
#define PTRC_LIVE_INTERVAL_MIN INT64_C(50000000)

/* Shows the numbers until the session has ended or an end signal (src/base/end_signal.h) has come. Returns the exit
 * status. */
enum ptrc_exit ptrc_live_run(const struct ptrc_live *);

#endif
