/* SPDX-License-Identifier: MIT */
/*
 * Snapshots that the controller of a session makes by itself when an event comes whose name matches a pattern: a
 * copy of what the stream holds then, as a closed log in a numbered file. The stream is unchanged.
 *
 * The controller looks for such events every PTRC_SNAPSHOTS_LOOK_MS, by a cursor that skips all others. Between
 * the starts of two snapshots at least PTRC_SNAPSHOTS_PAUSE_MS pass. An event that comes earlier makes the next
 * snapshot after this time, or at once when the stream is about to be flushed, cleared or ended. So each such
 * event that was seen is in a snapshot, if the stream still holds it then and the maximum is not reached.
 *
 * A snapshot is written in the background. Until it is complete its file has a name that ends in
 * PTRC_SNAPSHOTS_PARTIAL; a killed process leaves such a file.
 */
#ifndef PTRC_SRC_SESSION_SNAPSHOTS_H
#define PTRC_SRC_SESSION_SNAPSHOTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/posixtrace-private.h"
#include "src/base/json.h"
#include "src/session/session_protocol.h"

enum {
	PTRC_SNAPSHOTS_LOOK_MS = 10,
	PTRC_SNAPSHOTS_PAUSE_MS = 1000,
};

#define PTRC_SNAPSHOTS_PARTIAL ".partial"

struct ptrc_snapshots_plan {
	/* The names of events that make snapshots; none: no snapshots. */
	const char *const *globs;
	size_t glob_count;
	uint64_t max;
	/* The directory if the session has no log in a regular file; NULL: not known. */
	const char *directory;
};

/* A snapshot, or a failure to make one. */
struct ptrc_snapshot {
	/* The event that made it, and when it was recorded. */
	char event[TRACE_EVENT_NAME_MAX + 1];
	struct timespec time;
	/* Empty if it failed before there was a file. */
	char path[PATH_MAX];
	uint64_t event_count;
	/* 0 or an error number. */
	int error;
	/* None was made because the maximum is reached. Reported once. */
	bool is_too_many;
};

struct ptrc_snapshots;

/*
 * Starts to watch a stream. The paths of snapshots start with `base`. The caller keeps plan and base valid.
 * Returns 0 or an error number.
 */
int ptrc_snapshots_begin(struct ptrc_snapshots **, const struct ptrc_snapshots_plan *, trace_id_t,
			 const char *base, bool is_unsynced);

/* Milliseconds until ptrc_snapshots_is_due() is to be called again; -1: never. May be called while a snapshot
 * is written. */
int ptrc_snapshots_wait_ms(const struct ptrc_snapshots *);

/* Looks for events, and returns whether to start a snapshot now. is_last: the stream is about to lose its
 * events. *refused becomes a snapshot to report because the maximum is reached, or NULL. */
bool ptrc_snapshots_is_due(struct ptrc_snapshots *, bool is_last,
			   const struct ptrc_snapshot **refused);

/* Fixes the content of the snapshot; status and counts are those of the session. */
void ptrc_snapshots_prepare(struct ptrc_snapshots *, const struct posix_trace_status_info *,
			    const struct ptrc_counts *);
/* Writes it. May be called in another thread; meanwhile only functions that allow it may be called. Returns 0
 * or an error number. */
int ptrc_snapshots_write(struct ptrc_snapshots *);
/* Takes the result of that. The returned snapshot is valid until the next call. */
const struct ptrc_snapshot *ptrc_snapshots_finish(struct ptrc_snapshots *, int error);

/* Copies the state. May be called while a snapshot is written. */
void ptrc_snapshots_gather(const struct ptrc_snapshots *, struct ptrc_snapshots_state *);
/* Returns pattern i and whether it has matched an event type; i 0 first updates that for all patterns. NULL if
 * there is no such pattern, or no snapshots are made. May be called while a snapshot is written. */
const char *ptrc_snapshots_pattern(struct ptrc_snapshots *, size_t i, bool *has_matched);

/* Print messages: a pattern of --snapshot-on has matched no event; events were overwritten before the controller
 * looked at them. The name of the session may be NULL. */
void ptrc_snapshots_tell_unmatched(const char *name, const char *glob);
void ptrc_snapshots_tell_unseen(const char *name, uint64_t events);
/* Puts the member "unmatched", a list of such patterns. */
void ptrc_snapshots_put_unmatched(struct ptrc_json *, const char *const *globs, size_t count);

/* Stops watching, before the stream is shut down. */
void ptrc_snapshots_end(struct ptrc_snapshots *);

#endif
