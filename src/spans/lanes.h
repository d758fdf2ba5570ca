/* SPDX-License-Identifier: MIT */
/* Lanes: the threads of a log or, if several logs are of one machine, of the machine, in the order of their first
 * events. */
#ifndef PTRC_SRC_SPANS_LANES_H
#define PTRC_SRC_SPANS_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/table.h"
#include "src/query/query.h"

/* Thread 0 of a process has what was recorded on behalf of the process. */
struct ptrc_lane {
	struct ptrc_table_entry entry;
	/* Counts from 0. */
	size_t number;
	/* The source of the first event. */
	struct ptrc_source *source;
	/* The log or the machine. */
	size_t group;
	pid_t pid, tid;
	/* Stands for all threads after the first `max`. */
	bool is_rest;
	/* The innermost open span, which a new one may lie within, or NULL. */
	struct ptrc_span *latest;
};

enum { PTRC_LANES_RECENT = 16 };

/* Starts zeroed but for the first three. */
struct ptrc_lanes {
	/* The size of the sink's structure whose first member is the lane. It starts zeroed. */
	size_t lane_size;
	/* The machine of each source; NULL: each log has threads of its own. */
	size_t *machines;
	/* The most lanes, next to one for all further threads; 0: no limit. */
	size_t max;
	struct ptrc_lane *rest;
	struct ptrc_lane **list;
	size_t count;
	struct ptrc_table table;
	/* A cache of lanes by the low bits of the thread number. */
	struct ptrc_lane *recent[PTRC_LANES_RECENT];
};

/* The lane of the event that the source has just read. */
struct ptrc_lane *ptrc_lanes_find(struct ptrc_lanes *, struct ptrc_source *);

void ptrc_lanes_free(struct ptrc_lanes *);

#endif
