/* SPDX-License-Identifier: MIT */
/*
 * Snapshots that the controller of a session makes by itself when an event comes whose name matches a
 * pattern: what the stream holds then becomes a closed log, in a file with a number. The stream stays as
 * it is.
 *
 * The controller looks for such events every PTRC_SNAPSHOTS_LOOK_MS, by a cursor that walks over all
 * others. From the moment at which a snapshot begins to the moment of the next one there is a second at
 * least. An event that comes earlier makes the next one when the second is over, or at once when the
 * stream is about to be flushed, cleared or ended. So each such event that was seen is in a snapshot, as
 * far as the stream still holds it then, until there are as many as there may be.
 *
 * A snapshot is written in the background. Its file gets its name when it is complete; before that it has
 * a name that ends in PTRC_SNAPSHOTS_PARTIAL, which a process that is killed leaves.
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

/* When a session makes snapshots, and how many at most. Without a pattern it makes none. */
struct ptrc_snapshots_plan {
	const char *const *globs;
	size_t glob_count;
	uint64_t max;
	/* Where they go if the session has no log in a regular file; null if that is not known. */
	const char *directory;
};

/* What came of one, or why there is none. */
struct ptrc_snapshot {
	/* The event that made it, and when that was recorded. */
	char event[TRACE_EVENT_NAME_MAX + 1];
	struct timespec time;
	/* Empty if it failed before there was a file. */
	char path[PATH_MAX];
	uint64_t event_count;
	/* 0 or an error number. */
	int error;
	/* No snapshot was made, because there are as many as there may be. This is told once. */
	bool is_too_many;
};

struct ptrc_snapshots;

/*
 * Begins to look at a stream. The paths of snapshots begin with the path of the log, or with directory
 * and name of the session. All of these have to stay. Returns 0 or an error number.
 */
int ptrc_snapshots_begin(struct ptrc_snapshots **, const struct ptrc_snapshots_plan *, trace_id_t,
			 const char *base, bool is_unsynced);

/* After how many milliseconds ptrc_snapshots_is_due() is to be asked again; -1: not any more. This may be
 * called while a snapshot is written. */
int ptrc_snapshots_wait_ms(const struct ptrc_snapshots *);

/* Looks for events, and returns whether a snapshot is to be begun now. The stream is about to lose its
 * events if is_last. *told is set to what is to be told, if there is anything, else to null. */
bool ptrc_snapshots_is_due(struct ptrc_snapshots *, bool is_last,
			   const struct ptrc_snapshot **told);

/* Fixes what the snapshot has; status and counts are those of the session. */
void ptrc_snapshots_prepare(struct ptrc_snapshots *, const struct posix_trace_status_info *,
			    const struct ptrc_counts *);
/* Writes it; may be called in another thread, during which no other function may be called but
 * those that say so. Returns 0 or an error number. */
int ptrc_snapshots_write(struct ptrc_snapshots *);
/* Takes over the result of that. What is returned is valid until the next call. */
const struct ptrc_snapshot *ptrc_snapshots_finish(struct ptrc_snapshots *, int error);

/* Tells how many there are. This may be called while a snapshot is written. */
void ptrc_snapshots_gather(const struct ptrc_snapshots *, struct ptrc_snapshots_state *);
/* Gives out a pattern, with whether an event type has matched it; the first one has all of them compared with the
 * types that there are now. NULL: there are not that many, or no snapshots are made. This may be called while a snapshot
 * is written. */
const char *ptrc_snapshots_pattern(struct ptrc_snapshots *, size_t i, bool *has_matched);

/* Print what every command says of a pattern of --snapshot-on that has matched nothing, and of events that
 * nobody could look at. The name of the session may be null. */
void ptrc_snapshots_tell_unmatched(const char *name, const char *glob);
void ptrc_snapshots_tell_unseen(const char *name, uint64_t events);
/* Puts the member "unmatched" of an object about snapshots: such patterns. */
void ptrc_snapshots_put_unmatched(struct ptrc_json *, const char *const *globs, size_t count);

/* Ends the looking, before the stream is shut down. */
void ptrc_snapshots_end(struct ptrc_snapshots *);

#endif
