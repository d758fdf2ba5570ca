/* SPDX-License-Identifier: MIT */
/*
 * What is missing from a trace, and how the user is told.
 */
#ifndef PTRC_SRC_QUERY_LOSSES_H
#define PTRC_SRC_QUERY_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/posixtrace-private.h"
#include "src/base/json.h"

struct ptrc_losses {
	/* Events that were lost because stream or log had no room. */
	uint64_t stream_events;
	uint64_t log_events;
	/* Events were lost, but their number is unknown. */
	bool is_overrun;
	/* The log has no end: its trace still goes on, or its keeper was killed. */
	bool is_unclosed;
	/* Processes went on after the COMMAND of ptrace-run, and were no longer traced. */
	bool has_gone_on;
	/* The error number of writing the log, or 0. */
	int write_error;
	/* The file that was written is no longer at the path of the log. */
	bool is_log_gone;
	/* Events that were lost because of write_error, as far as their number is known. */
	uint64_t unwritten_events;
	/* Events of the log that could not be read, as it is damaged, and whether there are others
	 * whose number is not known. */
	uint64_t unreadable_events;
	bool is_unreadable_uncounted;
	/* Events of a followed session that were not shown, as the command or the
	 * session's controller was too slow. */
	uint64_t unshown_events;
	/* Processes that should have been traced and could not be, and the error number that tells
	 * why (see posixtrace.h). */
	uint64_t untraced_processes;
	int untraced_error;
	/* Names of event types beyond the limit, whose events have no name of their own: at least so
	 * many. */
	uint64_t refused_names;
	/* Names of event types that cannot be read, as the log is damaged. */
	uint64_t missing_names;
	/* Events that are not in the log, because what it was made from was damaged, or was a session
	 * that was too fast; and whether there may be others whose number is not known. */
	uint64_t source_unreadable_events;
	uint64_t source_unshown_events;
	bool is_source_uncounted;
	/* Parts of the log that have no events and are damaged. */
	uint64_t damaged_parts;
	/* Such parts, and names of event types, that were damaged in what the log was made from. */
	uint64_t source_damaged_parts;
	/* Of a log that is rotated: files that are missing. Files that --log-keep has deleted, and the
	 * events before the first file that is there, which is no loss. */
	uint64_t missing_files;
	uint64_t missing_events; /* that these have; 0: it is not known */
	/* Of a log that is rotated: the last file is missing, and maybe others before it. It counts once
	 * in missing_files, and .is_unclosed is true. */
	bool is_last_file_missing;
	uint64_t deleted_files;
	uint64_t earlier_events;
	/* Other parts of the log that are said to be other than they are, though their events may be
	 * readable. Only a verification finds them. */
	uint64_t differing_parts;
	/* The last events of the session were not received, and their number is not known. */
	bool is_rest_unshown;
	/* The error number of reading the log or following the session, or 0. */
	int read_error;
};

/* The type of the event with which ptrace-run records that processes went on; it exists only then. */
#define PTRC_WENT_ON "os.went_on"
/* The type of the event with which it records how COMMAND ended. */
#define PTRC_COMMAND_ENDED "os.command"

/* Fills in the losses from the status and the counts of a stream or a log. */
void ptrc_losses_gather(struct ptrc_losses *, const struct posix_trace_status_info *,
			const struct ptrc_counts *);

/*
 * Fills in the losses from a finished log, including those of its last flush, and stores
 * how many events it has got and not lost, and, if event_count is not null, how many a reader gets:
 * two more where the log is a ring that has lost events, as it begins with OVERFLOW and RESUME
 * then. The caller says whether the log is gone. A regular file
 * that is not a log counts as a log that is gone. Returns false, with at most .is_log_gone
 * changed, if the log is gone or cannot be read, for example because it is a pipe.
 */
bool ptrc_losses_count_log(struct ptrc_losses *l, const char *path, bool is_gone, uint64_t *in_log,
			   uint64_t *event_count);

/* If writing the log failed and the log itself does not tell how many events it lacks, works out how
 * many of the recorded events are neither in the log
 * nor counted as lost in it. */
void ptrc_losses_count_unwritten(struct ptrc_losses *l, uint64_t recorded, uint64_t in_log);

/* How many events of a closed log could not be read because of damage; those of files that are missing
 * are no such ones. The log has been read
 * to its end, which gave read_count events; the counts were taken after that. */
uint64_t ptrc_losses_unreadable(const struct ptrc_counts *, uint64_t read_count);

/* Whether an event of this type, with this data, is at a place where events were lost: overwritten,
 * damaged, or because the stream or the log was full. Of a STOP, which is before them, the data tells
 * so. */
bool ptrc_is_loss(trace_event_id_t id, const void *data, size_t size);

/* Whether such an event begins the loss, which reaches to the next event of its source. A loss that a
 * RESUME reports has ended. */
bool ptrc_is_loss_open(trace_event_id_t id, const void *data, size_t size);

/* Whether anything is missing. */
bool ptrc_losses_is_any(const struct ptrc_losses *);

/* How many events are missing, as far as they were counted. */
uint64_t ptrc_losses_events(const struct ptrc_losses *);

/* Prints a message for each kind of loss. */
void ptrc_losses_report(const struct ptrc_losses *, const char *thing);

/* Puts the member "losses" of the open object. */
void ptrc_losses_json(const struct ptrc_losses *, struct ptrc_json *);

#endif
