/* SPDX-License-Identifier: MIT */
/*
 * The threads whose events are exported, and their processes, with their names. Viewers tell them
 * apart by two numbers only, so those of further machines get other ones.
 */
#ifndef PTRC_SRC_SPANS_LANES_H
#define PTRC_SRC_SPANS_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/cli/buffer.h"
#include "src/cli/table.h"
#include "src/query/query.h"

/* The numbers of the n-th machine begin at n times this, which is above any that Linux gives; and so
 * many machines are possible, as the numbers of viewers have 31 bits. */
enum { PTRC_LANE_MACHINE_STEP = 10000000, PTRC_LANE_MACHINES = 100 };

/* A process. Process 0 is the trace system itself. */
struct ptrc_lane_process {
	int32_t pid;
	/* Counted from 1. */
	uint64_t number;
	/* Not null-terminated text of the log; empty if it is not known. */
	struct ptrc_buffer name;
	bool is_told;
};

struct ptrc_span;

/* A thread. Thread 0 of a process has what was recorded on behalf of it. */
struct ptrc_lane {
	struct ptrc_table_entry entry;
	struct ptrc_lane_process *process;
	int32_t pid;
	int32_t tid;
	/* Counted from 1. */
	uint64_t number;
	struct ptrc_buffer name;
	/* The nested begins that wait for their ends and overlap nothing so far, the latest one first. */
	struct ptrc_span *latest;
	/* For the format: whether it has told of the thread, and of the states of that; text that many
	 * events have; what else it keeps, which it frees. */
	bool is_told;
	bool is_state_told;
	struct ptrc_buffer text;
	void *state;
};

/* Starts zeroed. */
struct ptrc_lanes {
	/* By the order of the sources: the number of the machine. */
	size_t *machines;
	struct ptrc_lane **list;
	size_t count;
	struct ptrc_lane_process **processes;
	size_t process_count;
	/* By both numbers. */
	struct ptrc_table table;
};

/* Finds out which of the sources are of one machine. Returns false, after a message, if there are too
 * many machines. */
bool ptrc_lanes_begin(struct ptrc_lanes *, const struct ptrc_query *);

/* The thread of the event that the source has read. */
struct ptrc_lane *ptrc_lanes_find(struct ptrc_lanes *, struct ptrc_source *);

void ptrc_lanes_free(struct ptrc_lanes *);

/* Puts what people call the process or the thread, as it is; never empty. */
void ptrc_lane_put_process(struct ptrc_buffer *, const struct ptrc_lane_process *);
void ptrc_lane_put_thread(struct ptrc_buffer *, const struct ptrc_lane *);

#endif
