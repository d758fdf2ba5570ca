/* SPDX-License-Identifier: MIT */
/*
 * Snapshots that the controller of a session makes by itself, when an event comes whose name matches a
 * pattern, or when a pair of events takes longer than a limit. A snapshot is a copy of what the stream holds at
 * that time, as a closed log in a numbered file. The stream is unchanged.
 *
 * The controller looks for such events and pairs every PTRC_SNAPSHOTS_LOOK_MS (watch.h). At least
 * PTRC_SNAPSHOTS_PAUSE_MS pass between the starts of two snapshots. If such an event comes within
 * this pause, a snapshot is made at the end of the pause, or at once if the stream is about to be
 * flushed, cleared or ended. So each such event that the controller saw is in a snapshot, if the
 * stream still holds it then and the maximum is not reached.
 *
 * A snapshot is written in the background. Until it is complete, its file has a name that ends in
 * PTRC_SNAPSHOTS_PARTIAL. If the process is killed, it leaves such a file.
 */
#ifndef PTRC_SRC_SESSION_SNAPSHOTS_H
#define PTRC_SRC_SESSION_SNAPSHOTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/posixtrace-private.h"
#include "src/session/session_protocol.h"

enum {
	PTRC_SNAPSHOTS_LOOK_MS = 10,
	PTRC_SNAPSHOTS_PAUSE_MS = 1000,
};

#define PTRC_SNAPSHOTS_PARTIAL ".partial"

struct ptrc_snapshots_plan {
	/* The texts of --snapshot-on: each is a pattern of event names, or "PAIR > DURATION" (see
	 * ptrc_watch_is_valid()). If there are none, no snapshots are made. */
	const char *const *texts;
	size_t count;
	uint64_t max;
	/* The directory for snapshots if the log is not a regular file; NULL if it is unknown. */
	const char *directory;
};

/* A snapshot, or the failure or refusal to make a snapshot. */
struct ptrc_snapshot {
	/* The name of the event that made the snapshot. */
	char event[TRACE_EVENT_NAME_MAX + 1];
	/* When the event that made the snapshot was recorded. */
	struct timespec time;
	/* The path of the file, even if it could not be written; empty if the snapshot failed before its path was
	 * made. */
	char path[PATH_MAX];
	uint64_t event_count;
	/* 0 or an error number. */
	int error;
	/* No snapshot was made, because ptrc_snapshots_plan.max snapshots were written or have failed already. This
	 * is reported once. */
	bool is_too_many;
};

struct ptrc_snapshots;

/* Starts to look for events that make snapshots. The path of each snapshot starts with `base`. If is_unsynced,
 * files are not synced to disk. The caller keeps plan and base valid. Returns 0 or an error number. */
int ptrc_snapshots_begin(struct ptrc_snapshots **, const struct ptrc_snapshots_plan *, trace_id_t,
			 const char *base, bool is_unsynced);

/* Returns in how many milliseconds ptrc_snapshots_is_due() has to be called again; -1: never. May be called
 * while a snapshot is written. */
int ptrc_snapshots_wait_ms(const struct ptrc_snapshots *);

/* Looks for events that make snapshots. Returns whether a snapshot has to start now. is_last: the stream is about
 * to be flushed, cleared or ended. If a snapshot is not made because the maximum is reached, sets
 * *refused to it, for a report by the caller; otherwise to NULL. */
bool ptrc_snapshots_is_due(struct ptrc_snapshots *, bool is_last,
			   const struct ptrc_snapshot **refused);

/* Opens the snapshot's cursor, so that the snapshot will contain the events that the stream holds now. Status and
 * counts are those of the session; the snapshot ends with them. */
void ptrc_snapshots_prepare(struct ptrc_snapshots *, const struct posix_trace_status_info *,
			    const struct ptrc_counts *);
/* Writes the snapshot. May be called in another thread; meanwhile only functions whose comments allow it may be
 * called. Returns 0 or an error number. */
int ptrc_snapshots_write(struct ptrc_snapshots *);
/* Ends the snapshot; `error` is the result of ptrc_snapshots_write(). The returned snapshot is valid until
 * ptrc_snapshots_is_due() is called. */
const struct ptrc_snapshot *ptrc_snapshots_finish(struct ptrc_snapshots *, int error);

/* Copies what STAT reports about snapshots. May be called while a snapshot is written. */
void ptrc_snapshots_gather(const struct ptrc_snapshots *, struct ptrc_snapshots_state *);
/* Returns text i of --snapshot-on, and what it lacks; NULL if there is no such text, or if no snapshots are made. With
 * i 0, first compares all texts with the names of new event types. May be called while a snapshot is written. */
const char *ptrc_snapshots_pattern(struct ptrc_snapshots *, size_t i, enum ptrc_snapshot_lack *);

/* Stops looking for events that make snapshots. Called before the stream is shut down. */
void ptrc_snapshots_end(struct ptrc_snapshots *);

#endif
