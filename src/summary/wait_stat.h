/* SPDX-License-Identifier: MIT */
/* The sink of ptrace-stat --waits: collects the selected waits of threads, and what they were
 * for. */
#ifndef PTRC_SRC_SUMMARY_WAIT_STAT_H
#define PTRC_SRC_SUMMARY_WAIT_STAT_H

#include "src/query/query.h"
#include "src/spans/pairs.h"
#include "src/spans/waits.h"

struct ptrc_wait_stat {
	struct ptrc_waits waits;
	/* Puts the result into the query's .out. */
	void (*put)(struct ptrc_wait_stat *);
};

/* Has the query, whose sources are open, give its events to this sink. The pairs include those of
 * ptrc_waits_add_pairs(). */
void ptrc_wait_stat_begin(struct ptrc_wait_stat *, struct ptrc_query *, struct ptrc_pairs *,
			  void (*put)(struct ptrc_wait_stat *));

/* Frees the waits and the pairs, so that another log can be taken. */
void ptrc_wait_stat_end(struct ptrc_wait_stat *);

#endif
