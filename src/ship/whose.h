/* SPDX-License-Identifier: MIT */
/* The origin of a log's events, as rows: the machine and its processes. */
#ifndef PTRC_SRC_SHIP_WHOSE_H
#define PTRC_SRC_SHIP_WHOSE_H

#include <posixtrace-log.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/query/hosts.h"

struct ptrc_ship_whose {
	/* The machine; .ph_name is "" if the log does not name it. */
	struct posixtrace_log_host host;
	/* The log's entries about processes, sorted by pid and then by time. */
	struct ptrc_ship_process {
		int32_t pid;
		/* Identifies the process within the log. All entries of a process have the same number. A
		 * later process with the same pid has another number. */
		uint64_t id;
	} * processes;
	size_t process_count;
	/* How many clock readings the log had when `hosts` was made from them. */
	unsigned long clock_count;
	struct ptrc_hosts hosts;
};

/* Loads what the reader's log says about its host, processes and clocks. Also gives the reader a correction of its
 * clock; only the error bounds of the correction are used, and times stay as recorded. The reader goes on at the
 * same event. */
void ptrc_ship_whose_load(struct ptrc_ship_whose *, struct ptrc_reader *);
/* Calls ptrc_ship_whose_load() again if the log has got more entries about processes or clocks since the last call,
 * or if the host is still unknown. */
void ptrc_ship_whose_refresh(struct ptrc_ship_whose *, struct ptrc_reader *);
void ptrc_ship_whose_free(struct ptrc_ship_whose *);

/* Returns the .id of the process that had this pid at this time, or the pid if the log has no entry about the
 * process. */
uint64_t ptrc_ship_whose_process(const struct ptrc_ship_whose *, trace_id_t, int32_t pid,
				 int64_t ns);

/* Puts the row of the host. Returns false if the host is unknown. */
bool ptrc_ship_whose_put_host(const struct ptrc_ship_whose *, struct ptrc_buffer *);

/* Puts the row of the process of entry `number`. The row starts with the bytes of `head`. Returns false if a
 * later entry describes the same process. */
bool ptrc_ship_whose_put_process(const struct ptrc_ship_whose *, trace_id_t, size_t number,
				 const struct ptrc_buffer *head, struct ptrc_buffer *);

#endif
