/* SPDX-License-Identifier: MIT */
/* Lanes: rows of a picture, each for a thread of a log. If several logs are of one machine, they share the lanes
 * of its threads. Lanes are in the order of their first events. */
#ifndef PTRC_SRC_SPANS_LANES_H
#define PTRC_SRC_SPANS_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/buffer.h"
#include "src/base/table.h"
#include "src/query/query.h"

/* A lane: the events and spans of one thread of one log. The lane with tid 0 has the events that were recorded on
 * behalf of a process, not by a thread. */
struct ptrc_lane {
	struct ptrc_table_entry entry;
	/* The index of the lane in ptrc_lanes.list. */
	size_t number;
	/* The source of the lane's first event. */
	struct ptrc_source *source;
	/* The number of the log or, if logs share lanes, of the machine. */
	size_t group;
	pid_t pid, tid;
	/* The lane is shared by all threads after the first ptrc_lanes.max. */
	bool is_rest;
	/* The innermost span of the lane that is open, so that a new span may lie within it; or NULL. */
	struct ptrc_span *latest;
};

enum { PTRC_LANES_RECENT = 16 };

/* Starts zeroed, except for the first three members. */
struct ptrc_lanes {
	/* The sink has a structure for each lane, with the lane as its first member. This is the size of that
	 * structure, which starts zeroed. */
	size_t lane_size;
	/* The number of the machine of each source; NULL if logs do not share lanes. */
	size_t *machines;
	/* The greatest number of lanes; all further threads share one more lane, `rest`. 0: no limit. */
	size_t max;
	struct ptrc_lane *rest;
	struct ptrc_lane **list;
	size_t count;
	struct ptrc_table table;
	/* The lanes found last, by the low bits of the thread number. */
	struct ptrc_lane *recent[PTRC_LANES_RECENT];
};

/* Returns the lane of the latest event of the source. */
struct ptrc_lane *ptrc_lanes_find(struct ptrc_lanes *, struct ptrc_source *);

/* Returns the lane of the thread `tid` of the process that recorded the latest event of the source;
 * NULL if there is none yet. */
struct ptrc_lane *ptrc_lanes_seek(const struct ptrc_lanes *, const struct ptrc_source *, pid_t tid);

/* Stores the process to which the lane belonged at the time `ns` (such as that of the lane's last event), and the index
 * of the process in the log. Returns false if the process is unknown. */
bool ptrc_lane_process(const struct ptrc_lane *, int64_t ns, unsigned long *index,
		       struct posixtrace_log_process *);

/* Stores the thread to which the lane belonged at the time `ns`. Returns false if the thread has no name. */
bool ptrc_lane_thread(const struct ptrc_lane *, int64_t ns, struct posixtrace_log_thread *);

/* Append "process 7 name", "thread 8 name", or both with a comma between them. */
void ptrc_lane_put_process(struct ptrc_buffer *, const struct ptrc_lane *, int64_t ns);
void ptrc_lane_put_thread(struct ptrc_buffer *, const struct ptrc_lane *, int64_t ns);
void ptrc_lane_put(struct ptrc_buffer *, const struct ptrc_lane *, int64_t ns);

void ptrc_lanes_free(struct ptrc_lanes *);

#endif
