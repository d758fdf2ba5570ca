/* SPDX-License-Identifier: MIT */
/* Whose a log is, for its rows: the machine, its processes, and how far its clock may be off. */
#ifndef PTRC_SRC_SHIP_WHOSE_H
#define PTRC_SRC_SHIP_WHOSE_H

#include <posixtrace-log.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/cli/buffer.h"
#include "src/query/correction.h"

struct ptrc_ship_whose {
	struct posixtrace_log_host host;
	/* What the log tells of a process at a time; by pids, and those of one pid by times. */
	struct ptrc_ship_process {
		int32_t pid;
		int64_t from_ns;
		/* What all that is told of the process has in common, and no other process of the
		 * log has. */
		uint64_t id;
	} * processes;
	size_t process_count;
	/* What was found last. */
	size_t process;
	/* Readings of the clocks, by their times, and how far the time of events was off then at most. */
	struct ptrc_ship_clock {
		int64_t ns;
		int64_t bound_ns;
	} * clocks;
	size_t clock_count;
	size_t clock;
};

void ptrc_ship_whose_load(struct ptrc_ship_whose *, trace_id_t);
/* Loads it anew, if the log has got more. */
void ptrc_ship_whose_refresh(struct ptrc_ship_whose *, trace_id_t);
void ptrc_ship_whose_free(struct ptrc_ship_whose *);

/* The process that had the pid at this time. Of one that the log does not tell of, it is the pid. */
uint64_t ptrc_ship_whose_process(struct ptrc_ship_whose *, trace_id_t, int32_t pid, int64_t ns);

/* How far the time of an event may be from the true time: what the kernel said of its clock, and how far
 * the time of events was from that. PTRC_BOUND_UNKNOWN if the log does not tell. */
int64_t ptrc_ship_whose_bound(struct ptrc_ship_whose *, int64_t ns);

/* Put a row: of the host; and of the process that the entry with this number tells of, which begins with the
 * bytes of `head`. Return false if nothing is known of the host, or a later entry tells more of the process. */
bool ptrc_ship_whose_put_host(const struct ptrc_ship_whose *, struct ptrc_buffer *);
bool ptrc_ship_whose_put_process(const struct ptrc_ship_whose *, trace_id_t, size_t number,
				 const struct ptrc_buffer *head, struct ptrc_buffer *);

#endif
