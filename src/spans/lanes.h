/* SPDX-License-Identifier: MIT */
/* Lanes: the threads of a log, or of a machine whose threads are in several logs, in the order of their first
 * events. */
#ifndef PTRC_SRC_SPANS_LANES_H
#define PTRC_SRC_SPANS_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/table.h"
#include "src/query/query.h"

/* Thread 0 of a process has what was recorded on behalf of it. */
struct ptrc_lane {
	struct ptrc_table_entry entry;
	/* Counted from 0. */
	size_t number;
	/* That of its first event; the log or the machine. */
	struct ptrc_source *source;
	size_t group;
	pid_t pid, tid;
	/* Stands for all threads beyond those that have room. */
	bool is_rest;
	/* The latest span that others may lie within, or null. */
	struct ptrc_span *latest;
};

enum { PTRC_LANES_RECENT = 16 };

/* Starts zeroed but for the first three. */
struct ptrc_lanes {
	/* The size of a lane: that of a structure of the sink, whose first member is the lane and which starts
	 * zeroed. */
	size_t lane_size;
	/* By the order of the sources: the number of its machine; null: each log has threads of its own. */
	size_t *machines;
	/* At most this many lanes; all further threads share one more. 0: any number. */
	size_t max;
	struct ptrc_lane *rest;
	struct ptrc_lane **list;
	size_t count;
	struct ptrc_table table;
	/* A cache: the lane that was found last, by the low bits of the thread number. */
	struct ptrc_lane *recent[PTRC_LANES_RECENT];
};

/* That of the event which the source has read. */
struct ptrc_lane *ptrc_lanes_find(struct ptrc_lanes *, struct ptrc_source *);

void ptrc_lanes_free(struct ptrc_lanes *);

#endif
