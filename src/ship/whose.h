/* SPDX-License-Identifier: MIT */
/* Whose a log is, for its rows: the machine, its processes, and how wrong its clock may be. */
#ifndef PTRC_SRC_SHIP_WHOSE_H
#define PTRC_SRC_SHIP_WHOSE_H

#include <posixtrace-log.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/query/hosts.h"

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
	/* How many readings of clocks the log has, and what its times are by these. */
	unsigned long clock_count;
	struct ptrc_hosts hosts;
};

/* The reader stays where it is, and knows from then on how wrong its times may be. */
void ptrc_ship_whose_load(struct ptrc_ship_whose *, struct ptrc_reader *);
/* Loads it anew, if the log has got more. */
void ptrc_ship_whose_refresh(struct ptrc_ship_whose *, struct ptrc_reader *);
void ptrc_ship_whose_free(struct ptrc_ship_whose *);

/* The process that had the pid at this time. Of one that the log does not tell of, it is the pid. */
uint64_t ptrc_ship_whose_process(struct ptrc_ship_whose *, trace_id_t, int32_t pid, int64_t ns);

/* Put a row: of the host; and of the process that the entry with this number tells of, which begins with the
 * bytes of `head`. Return false if nothing is known of the host, or a later entry tells more of the process. */
bool ptrc_ship_whose_put_host(const struct ptrc_ship_whose *, struct ptrc_buffer *);
bool ptrc_ship_whose_put_process(const struct ptrc_ship_whose *, trace_id_t, size_t number,
				 const struct ptrc_buffer *head, struct ptrc_buffer *);

#endif
