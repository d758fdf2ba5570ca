/* SPDX-License-Identifier: MIT */
/*
 * What is missing from a trace, and how the user is told.
 */
#ifndef PTRC_SRC_VIEW_LOSSES_H
#define PTRC_SRC_VIEW_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include <posixtrace.h>

#include "src/cli/json.h"

struct ptrc_losses {
	/* Events lost for want of room, in the stream and in the log. */
	uint64_t stream_events;
	uint64_t log_events;
	/* Events lost, number unknown. */
	bool is_overrun;
	/* The log has no end: its trace is still going on, or was killed with its
	 * keeper. */
	bool is_unclosed;
	/* Error number of writing the log, or 0. */
	int write_error;
	/* What was written is not at the path of the log any more. */
	bool is_log_gone;
	/* Events that could not be written for it, as far as that is known. */
	uint64_t unwritten_events;
	/* Events that the log counts and that could not be read: it is damaged. */
	uint64_t unreadable_events;
	/* Events of a session that was followed that were not shown, as its follower or its
	 * controller was too slow. */
	uint64_t unshown_events;
	/* The same of all that came last. */
	bool is_rest_unshown;
	/* Error number of reading the log, or of following the session, or 0. */
	int read_error;
};

/* From the status and the counts of a stream or a log. */
void ptrc_losses_gather(struct ptrc_losses *, const struct posix_trace_status_info *,
			const struct posixtrace_counts *);

/*
 * From the finished log in a file, which knows also what its last flush could not keep,
 * with the number of events that it has. False, with at most .is_log_gone changed, if it
 * cannot be read, as it is a pipe, say. Whether it is gone ptrc_logfile_is_gone() says; a
 * regular file that is no log is as bad.
 */
bool ptrc_losses_count_log(struct ptrc_losses *l, const char *path, bool is_gone,
			   uint64_t *event_count);

/* After an error of writing: how many of the events that were recorded are neither in the
 * log nor counted as lost in it. */
void ptrc_losses_count_unwritten(struct ptrc_losses *l, uint64_t recorded,
				 uint64_t in_log);

/* How many events of a closed log, which was read to its end, are damaged: neither read nor
 * passed over. The counts are as of then. */
uint64_t ptrc_losses_unreadable(const struct posixtrace_counts *, uint64_t read_count);

bool ptrc_losses_is_any(const struct ptrc_losses *);

/* One line on standard error for each kind of loss. */
void ptrc_losses_report(const struct ptrc_losses *, const char *thing);

/* As members of the object that is open. */
void ptrc_losses_json(const struct ptrc_losses *, struct ptrc_json *);

#endif
