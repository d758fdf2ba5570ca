/* SPDX-License-Identifier: MIT */
/* Losses of a trace: gathering them, and showing them as messages and JSON. */
#ifndef PTRC_SRC_QUERY_LOSSES_H
#define PTRC_SRC_QUERY_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/posixtrace-private.h"
#include "src/base/json.h"

struct ptrc_losses {
	/* Events that were lost because the stream, or the log, was full. */
	uint64_t stream_events;
	uint64_t log_events;
	/* An unknown number of events was lost. */
	bool is_overrun;
	/* The log has no end: its trace still goes on, or its keeper was killed. */
	bool is_unclosed;
	/* Processes went on after the COMMAND of ptrace-run, and were no longer traced. */
	bool has_gone_on;
	/* The error number of writing the log, or 0, and the events lost by it, as far as they are counted. */
	int write_error;
	uint64_t unwritten_events;
	/* The file that was written is no longer at the path of the log. */
	bool is_log_gone;
	/* Events that cannot be read because the log is damaged; and whether there are others, uncounted. */
	uint64_t unreadable_events;
	bool is_unreadable_uncounted;
	/* Events of a followed session that were not shown, as the command or the session's controller was too slow; and
	 * whether these include an unknown number of events at its end. */
	uint64_t unshown_events;
	bool is_rest_unshown;
	/* Processes that should have been traced and could not be, and the error number (see posixtrace.h). */
	uint64_t untraced_processes;
	int untraced_error;
	/* Names of event types beyond the limit, whose events have no name of their own: at least this many. */
	uint64_t refused_names;
	/* Names of event types that cannot be read because the log is damaged. */
	uint64_t missing_names;
	/* Parts of the log without events that are damaged. */
	uint64_t damaged_parts;
	/* The same for what the log was made from: damaged events; events of a session that was too fast; whether there
	 * are others, uncounted; damaged names and other parts. */
	uint64_t source_unreadable_events;
	uint64_t source_unshown_events;
	bool is_source_uncounted;
	uint64_t source_damaged_parts;
	/* For a rotated log: files that are missing, and their events, 0: unknown. */
	uint64_t missing_files;
	uint64_t missing_events;
	/* The last file is missing, and maybe others before it. It counts as one of missing_files, and is_unclosed is
	 * true. */
	bool is_last_file_missing;
	/* Files that --log-keep has deleted, which is no loss, and the events before the first file that exists. */
	uint64_t deleted_files;
	uint64_t earlier_events;
	/* Other parts that differ from what the log says about them, though their events may be readable. Only a
	 * verification finds them. */
	uint64_t differing_parts;
	/* The error number of reading the log or following the session, or 0. */
	int read_error;
};

/* ptrace-run records this event only if processes went on after COMMAND. */
#define PTRC_WENT_ON "os.went_on"
/* ptrace-run records this event when COMMAND has ended. */
#define PTRC_COMMAND_ENDED "os.command"

/* Fills in the losses from the status and the counts of a stream or a log. */
void ptrc_losses_gather(struct ptrc_losses *, const struct posix_trace_status_info *,
			const struct ptrc_counts *);

/*
 * Fills in the losses from a finished log, including those of its last flush. Stores the number of its events and, if
 * event_count is not NULL, the number that a reader gets: two more, OVERFLOW and RESUME, if the log is a ring that has
 * lost events. The caller says whether the log is gone; a regular file that is no log counts as that, too. Returns
 * false, with at most .is_log_gone changed, if the log is gone or cannot be read, such as a pipe.
 */
bool ptrc_losses_count_log(struct ptrc_losses *l, const char *path, bool is_gone, uint64_t *in_log,
			   uint64_t *event_count);

/* If writing the log failed and the log does not count what it lacks: counts the recorded events that are neither in
 * the log nor lost because it was full. */
void ptrc_losses_count_unwritten(struct ptrc_losses *l, uint64_t recorded, uint64_t in_log);

/* Adds the losses that reading a log has found. The counts were taken after that. *read_count: the number of events
 * read; NULL if the log was not read to its end. */
void ptrc_losses_add_read(struct ptrc_losses *, const struct ptrc_counts *,
			  const uint64_t *read_count);

/* Whether the event is next to a place where events were lost: overwritten, damaged, or because the stream or the log
 * was full. A STOP precedes its losses; its data says whether the stream was full. */
bool ptrc_is_loss(trace_event_id_t id, const void *data, size_t size);

/* Whether the event starts a loss, which reaches to the next event of its source. A RESUME ends one. */
bool ptrc_is_loss_open(trace_event_id_t id, const void *data, size_t size);

bool ptrc_losses_is_any(const struct ptrc_losses *);

/* The number of missing events, as far as they are counted. */
uint64_t ptrc_losses_events(const struct ptrc_losses *);

/* Passes on each kind of loss: its key in JSON or NULL, whether it makes a trace incomplete, and the message
 * without the name of the log or session. */
typedef void ptrc_losses_take(void *arg, const char *key, bool is_loss, const char *text);
void ptrc_losses_each(const struct ptrc_losses *, ptrc_losses_take *, void *arg);

/* Prints a message for each kind of loss. */
void ptrc_losses_report(const struct ptrc_losses *, const char *thing);

/* Puts the member "losses" of the open object. */
void ptrc_losses_json(const struct ptrc_losses *, struct ptrc_json *);

#endif
