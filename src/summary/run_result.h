/* SPDX-License-Identifier: MIT */
/*
 * What came of a run, as ptrace-run --json tells it: one JSON object (docs/json-schema.md), on
 * standard error, in a file or on a descriptor. There is one object in any case: if ptrace-run
 * ends before COMMAND was traced, the process writes it on its way out.
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

/* How often events of the run waited for room in the stream, and how long in all. */
struct ptrc_run_waits {
	uint64_t count;
	uint64_t ns;
};

/* Events of the run whose data was cut to max-data-size, and the bytes of the largest data that was. */
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
	/* How many of them could not be written. */
	size_t failed;
	/* There was an event that made none, as there were as many as there may be. */
	bool is_used_up;
	/* The patterns that no event type has matched. */
	const char **unmatched;
	size_t unmatched_count;
	/* Events that were overwritten before anybody had looked whether they make one. */
	uint64_t unseen_events;
};

/* Says what came of a snapshot, and keeps it for the object. */
void ptrc_run_snapshots_add(struct ptrc_run_snapshots *, const struct ptrc_snapshot *);
/* No event type matches this pattern: keeps it, to be said at the end. */
void ptrc_run_snapshots_unmatched(struct ptrc_run_snapshots *, const char *glob);
/* Says what is to be said at the end. */
void ptrc_run_snapshots_report(const struct ptrc_run_snapshots *);

/* Take --json, with its file or null, and --json-fd. End the process if the value is not valid
 * or another place was given before. */
void ptrc_run_result_to_file(const char *path);
void ptrc_run_result_to_descriptor(const char *number);

/* Sets the command that the object is about, and whether the file of --json may be replaced
 * whatever it is. The text is not copied. */
void ptrc_run_result_set(const char *command, bool is_forced);

/*
 * Opens and empties the file of --json, before COMMAND runs. A file that exists is replaced
 * only if it is empty or begins as such an object does, or by force. Returns false if it
 * cannot be opened, or is the log; the reason has been printed. Without --json or without a
 * file there is nothing to do.
 */
bool ptrc_run_result_open(int log_fd);

/* ---- for any file that tells what came of a run ---- */

/* Refuses, as the value of the option, an empty path and "-". Null is taken. */
void ptrc_run_result_check_path(const char *option, const char *path);

/* Opens and empties the file, if it may be replaced. Returns -1 after a message if it may not, cannot be
 * opened or is the log. */
int ptrc_run_result_open_file(const char *path, const struct ptrc_replace_kind *, bool is_forced,
			      int log_fd);

/* Writes and frees the buffer. Returns false, after a message that has this name, if that is not possible. */
bool ptrc_run_result_write(int fd, const char *name, struct ptrc_buffer *);

/* ---- the object ---- */

/* Writes the object, if it was asked for, of a COMMAND that ended before it was traced. */
void ptrc_run_result_put_untraced(int status);

/*
 * Writes the object, if it was asked for, of a traced COMMAND that ended with this status, as wait()
 * has it; the number of events may be null. Somebody may have ended the recording before. Returns false if it could not be written; the
 * reason has been printed.
 */
bool ptrc_run_result_put(int status, const char *log, const uint64_t *event_count,
			 const struct ptrc_losses *, const struct ptrc_run_waits *,
			 const struct ptrc_run_cut *, const struct posixtrace_pattern *,
			 size_t pattern_count, const struct ptrc_run_snapshots *,
			 bool is_ended_early, size_t went_on);

#endif
