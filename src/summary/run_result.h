/* SPDX-License-Identifier: MIT */
/*
 * The result of a run for ptrace-run --json: a JSON object (docs/json-schema.md), written to standard error, to a
 * file or to a descriptor. It is always written: if ptrace-run fails before COMMAND is traced, it is written when
 * the process exits.
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
#include "src/summary/event_types.h"

/* The snapshots that a run has made (--snapshot-on). Starts zeroed. */
struct ptrc_run_snapshots {
	/* --snapshot-on was given. */
	bool is_wanted;
	struct ptrc_snapshot *made;
	size_t count;
	/* The number of snapshots that could not be written. */
	size_t failed;
	/* An event that should have made a snapshot made none, because --snapshot-max was reached. */
	bool is_used_up;
	/* The texts of --snapshot-on that lack something. */
	struct ptrc_idle_snapshot *unmatched;
	size_t unmatched_count;
	/* The number of events that were lost before it was known whether they should make a snapshot. */
	uint64_t unseen_events;
};

/* The results of the run of a traced COMMAND. Starts zeroed. */
struct ptrc_run_outcome {
	/* The status of COMMAND, as wait() returns it. */
	int status;
	/* The path of the log. */
	const char *log;
	/* The log could be read, so event_count, the number of events in it, is known. */
	bool has_count;
	uint64_t event_count;
	struct ptrc_losses losses;
	/* How often events had to wait for space in the stream, and how long in total. */
	uint64_t waits;
	uint64_t wait_ns;
	/* The number of events whose data was cut to max-data-size, and the largest size that such data had before it was
	 * cut. */
	uint64_t cut_events;
	uint64_t data_needed;
	struct posixtrace_pattern patterns[POSIXTRACE_PATTERNS_MAX];
	size_t pattern_count;
	struct ptrc_run_snapshots snapshots;
	/* The session only counts events. The event types have their counts then. */
	bool only_counts;
	struct ptrc_event_types types;
	/* The recording was ended before COMMAND, by ptrace-shutdown for instance. */
	bool is_ended_early;
	/* The number of traced processes that went on after COMMAND. */
	size_t went_on;
};

/* Prints a message about a snapshot, and keeps it for the JSON object. */
void ptrc_run_snapshots_add(struct ptrc_run_snapshots *, const struct ptrc_snapshot *);
/* Called at the end of the run: reports unmatched patterns and unseen events. */
void ptrc_run_snapshots_report(const struct ptrc_run_snapshots *);

/* Called for the option --json, with its file or NULL, and for --json-fd. Both end the process if the value is
 * not valid, or if one of these options was given before. */
void ptrc_run_result_to_file(const char *path);
void ptrc_run_result_to_descriptor(const char *number);

/* Sets the command that the JSON object names; the text is not copied. is_forced: the file of --json is
 * replaced, whatever it contains. */
void ptrc_run_result_set(const char *command, bool is_forced);

/* Opens and empties the file of --json, if there is one, before COMMAND runs. Unless is_forced was set, an
 * existing file is replaced only if it is empty or starts like a JSON object of a ptrace-* command. Returns false,
 * after a message, if the file cannot be opened, or if it is the log. */
bool ptrc_run_result_open(int log_fd);

/* ---- for each file with a result of a run ---- */

/* Ends the process if the value of the option is an empty path or "-". NULL is accepted. */
void ptrc_run_result_check_path(const char *option, const char *path);

/* Opens and empties a file. Returns -1, after a message, if it may not be replaced, cannot be opened, or is the
 * log. */
int ptrc_run_result_open_file(const char *path, const struct ptrc_replace_kind *, bool is_forced,
			      int log_fd);

/* Writes the buffer to `fd`, and frees it. Returns false, after a message about `name`, if writing fails. */
bool ptrc_run_result_write(int fd, const char *name, struct ptrc_buffer *);

/* ---- the object ---- */

/* If --json or --json-fd was given: writes the JSON object for a COMMAND that was not traced. `status` says how the run
 * ended, in the form of wait(). */
void ptrc_run_result_put_untraced(int status);

/* If --json or --json-fd was given: writes the JSON object for a traced COMMAND. Returns false, after a message, if it
 * cannot be written. */
bool ptrc_run_result_put(const struct ptrc_run_outcome *);

#endif
