/* SPDX-License-Identifier: MIT */
/*
 * The result of a run for ptrace-run --json: one JSON object (docs/json-schema.md), on standard error, in a file or
 * on a descriptor. It is always written: if ptrace-run fails before COMMAND is traced, the process writes it when
 * it exits.
 */
#ifndef PTRC_SRC_SUMMARY_RUN_RESULT_H
#define PTRC_SRC_SUMMARY_RUN_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/replace.h"
#include "src/session/snapshots.h"
#include "src/query/losses.h"
#include "src/session/unmatched.h"

/* The number of times that events waited for room in the stream, and the sum of these times. */
struct ptrc_run_waits {
	uint64_t count;
	uint64_t ns;
};

/* Events whose data was cut to max-data-size, and the bytes of the largest such data. */
struct ptrc_run_cut {
	uint64_t events;
	uint64_t data_needed;
};

/* The snapshots of a run. Starts zeroed. */
struct ptrc_run_snapshots {
	/* --snapshot-on was given. */
	bool is_wanted;
	struct ptrc_snapshot *made;
	size_t count;
	/* The number of those that could not be written. */
	size_t failed;
	/* An event made no snapshot, because --snapshot-max was reached. */
	bool is_used_up;
	/* The patterns that no event type has matched. */
	const char **unmatched;
	size_t unmatched_count;
	/* Events that were overwritten before it was known whether they make a snapshot. */
	uint64_t unseen_events;
};

/* Reports a snapshot, and keeps it for the object. */
void ptrc_run_snapshots_add(struct ptrc_run_snapshots *, const struct ptrc_snapshot *);
/* Reports, at the end, unmatched patterns and unseen events. */
void ptrc_run_snapshots_report(const struct ptrc_run_snapshots *);

/* Take --json, with its file or NULL, and --json-fd. End the process if the value is not valid or one of these
 * options was given before. */
void ptrc_run_result_to_file(const char *path);
void ptrc_run_result_to_descriptor(const char *number);

/* Sets the command for the object, which is not copied, and whether the file of --json may be replaced whatever it
 * is. */
void ptrc_run_result_set(const char *command, bool is_forced);

/* Opens and empties the file of --json, if there is one, before COMMAND runs. An existing file is replaced only if
 * it is empty, starts like such an object, or by force. Returns false, after a message, if it cannot be opened or
 * is the log. */
bool ptrc_run_result_open(int log_fd);

/* ---- for each file with a result of a run ---- */

/* Refuses an empty path and "-" as the value of the option. NULL is accepted. */
void ptrc_run_result_check_path(const char *option, const char *path);

/* Opens and empties the file. Returns -1, after a message, if it may not be replaced, cannot be opened or is the
 * log. */
int ptrc_run_result_open_file(const char *path, const struct ptrc_replace_kind *, bool is_forced,
			      int log_fd);

/* Writes and frees the buffer. Returns false, after a message about `name`, if that fails. */
bool ptrc_run_result_write(int fd, const char *name, struct ptrc_buffer *);

/* ---- the object ---- */

/* Writes the object for a COMMAND that ended before it was traced, if it was asked for. */
void ptrc_run_result_put_untraced(int status);

/*
 * Writes the object for a traced COMMAND that ended with this status of wait(), if it was asked for. event_count is
 * NULL if it is unknown. is_ended_early: ptrace-shutdown or the like has ended the recording before COMMAND ended;
 * went_on: the number of processes that went on after it. Returns false, after a message, if it cannot be written.
 */
bool ptrc_run_result_put(int status, const char *log, const uint64_t *event_count,
			 const struct ptrc_losses *, const struct ptrc_run_waits *,
			 const struct ptrc_run_cut *, const struct posixtrace_pattern *,
			 size_t pattern_count, const struct ptrc_run_snapshots *,
			 bool is_ended_early, size_t went_on);

#endif
