/* SPDX-License-Identifier: MIT */
/*
 * Serves the followers of a session, and clients that ask for what the stream holds now (snapshots). Each has
 * a cursor of its own, so it takes no events away from other followers, the stream or the log. The controller
 * polls the stream every PTRC_FOLLOW_READ_MS instead of waiting for events, so traced processes never have to
 * wake a reader.
 *
 * While the socket of a follower is full, the controller does not read for it. Events that are overwritten or
 * flushed meanwhile are missed by the follower, which is informed of their number.
 *
 * A follower gets a log (session_protocol.h), in parts that the library makes of the events at its cursor. The
 * stream may be gone when the log ends.
 */
#ifndef PTRC_SRC_SESSION_SESSION_FOLLOW_H
#define PTRC_SRC_SESSION_SESSION_FOLLOW_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace-control.h>

#include "include/posixtrace-private.h"
#include "src/session/session_protocol.h"

enum {
	PTRC_FOLLOWERS_MAX = 64,
	/* How often ptrc_follow_read() is to be called while there are followers. */
	PTRC_FOLLOW_READ_MS = 2,
};

/* How much a follower has missed since it came or the session was cleared. */
struct ptrc_follow_missed {
	/* Events overwritten in the stream, or not recorded because there was no room. */
	uint64_t lost;
	/* Events flushed to the log before they could be sent. */
	uint64_t flushed;
};

/* The state of the session for the last STATUS of a log. */
struct ptrc_follow_end {
	/* The error number of writing the log, or 0. */
	int error;
	struct posix_trace_status_info status;
	struct ptrc_counts counts;
};

struct ptrc_follower {
	int fd;
	struct posixtrace_cursor *cursor;
	/* The cursor ends with what the stream held when it was opened. */
	bool is_snapshot;
	bool is_finished;
	bool is_gone;
	/* Bytes that wait for room in the socket, or NULL; how many of them were sent. */
	unsigned char *pending;
	size_t pending_size;
	size_t sent;
	/* When the socket last took something. */
	int64_t progress_ns;
	/* Events lost in the stream and written to the log before the follower came. */
	uint64_t lost_before;
	uint64_t written_before;
	/* Events that the follower got. If the log got more in the same time, some were missed. */
	uint64_t taken;
	/* The totals in the last STATUS, and when they were counted. */
	struct ptrc_follow_missed missed;
	int64_t counted_ns;
	/* Events may have been missed since then. */
	bool is_behind;
	/* Events were missed that cannot be counted. */
	bool is_incomplete;
	/* The session when the follower came: for the last STATUS of a snapshot. */
	struct ptrc_follow_end end;
};

/* Starts zeroed. */
struct ptrc_follow {
	trace_id_t trace;
	bool has_log;
	struct ptrc_follower *followers[PTRC_FOLLOWERS_MAX];
	size_t count;
};

/* Adds a follower, and takes over its descriptor. A snapshot ends by itself, with the status and counts of
 * *state. Returns 0, EMFILE if there are too many followers, or another error number. */
int ptrc_follow_add(struct ptrc_follow *, int fd, bool is_snapshot,
		    const struct ptrc_session_state *state);

/* Sends the start of the log, up to the first STATUS, to the follower that was added last. It includes the
 * names of all event types. */
void ptrc_follow_greet(struct ptrc_follow *);

/* Fills in an entry for each follower; returns their number. */
size_t ptrc_follow_poll(const struct ptrc_follow *, struct pollfd *);

/* Sends pending bytes to followers whose sockets have room, and removes those that have left. The entries are
 * those of ptrc_follow_poll(); no follower may be added in between. */
void ptrc_follow_serve(struct ptrc_follow *, const struct pollfd *, size_t count);

/* Reads events for at most 10 ms and sends them. Returns whether there are more. */
bool ptrc_follow_read(struct ptrc_follow *);

/* To be called after posix_trace_clear(), which resets the counts of the stream. */
void ptrc_follow_cleared(struct ptrc_follow *);

/* Reads and sends the rest of a stream that was stopped. Waits for followers without room, for a limited
 * time. */
void ptrc_follow_finish(struct ptrc_follow *);

/* Sends END to all followers that got everything before it, and removes all followers. */
void ptrc_follow_end(struct ptrc_follow *, const struct ptrc_follow_end *);

#endif
