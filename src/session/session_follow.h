/* SPDX-License-Identifier: MIT */
/*
 * How the controller serves the followers of its session, and those who ask for what the stream
 * holds now. Each has a cursor of its own in the stream, so nobody takes events away from others,
 * from the stream or from the log. The controller does not wait at the stream but reads it every
 * PTRC_FOLLOW_READ_MS, so that traced processes have no reader to wake.
 *
 * While the socket of a follower is full, the controller does not read for it: its cursor stays
 * behind. What is overwritten or flushed meanwhile, the follower misses, and is told how much; so is
 * one whose controller did not come to read in time.
 *
 * What a follower gets is a log (session_protocol.h), in parts that the library makes of what its cursor
 * reads. The stream may be gone when a log ends.
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
	/* While anybody follows, ptrc_follow_read() is to be called so often. */
	PTRC_FOLLOW_READ_MS = 2,
	/* At the end of a session the controller waits for a follower whose socket is full, as long
	 * as the follower takes something within this time, and for all of them no longer than the
	 * second time. */
	PTRC_FOLLOW_END_MS = 500,
	PTRC_FOLLOW_END_ALL_MS = 5000,
};

/* How much a follower has missed since it came or the session was cleared. */
struct ptrc_follow_missed {
	/* Events overwritten in the stream, or not recorded because there was no room. */
	uint64_t lost;
	/* Events flushed to the log before they could be sent. */
	uint64_t flushed;
};

/* What a follower is told of the session at its end. */
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
	/* What waits for room in the socket, or null; how much of it was sent; and when the socket last took
	 * something. */
	unsigned char *pending;
	size_t pending_size;
	size_t sent;
	int64_t progress_ns;
	/* What the stream had lost before the follower came, and what the log had got. */
	uint64_t lost_before;
	uint64_t written_before;
	/* The events that the follower got. If the log has got more meanwhile, some were missed. */
	uint64_t taken;
	/* The totals that the follower was told last, and when they were counted. It is behind if
	 * it may have missed something since. */
	struct ptrc_follow_missed missed;
	int64_t counted_ns;
	bool is_behind;
	/* The follower has missed something that cannot be counted. */
	bool is_incomplete;
	/* What the session was when the follower came: what a snapshot tells at its end. */
	struct ptrc_follow_end end;
};

/* Starts zeroed. */
struct ptrc_follow {
	trace_id_t trace;
	bool has_log;
	struct ptrc_follower *followers[PTRC_FOLLOWERS_MAX];
	size_t count;
};

/* Makes the connection that of a follower, and then owns its descriptor. A snapshot ends by itself,
 * with the status and counts of *state. Returns 0, EMFILE if there are too many followers, or
 * another error number. The follower gets nothing before ptrc_follow_greet(). */
int ptrc_follow_add(struct ptrc_follow *, int fd, bool is_snapshot,
		    const struct ptrc_session_state *state);

/* Sends the follower that was added last what its log begins with, up to the first STATUS, and so the
 * names of all event types. */
void ptrc_follow_greet(struct ptrc_follow *);

/* Fills in an entry for each follower, and returns how many there are. */
size_t ptrc_follow_poll(const struct ptrc_follow *, struct pollfd *);

/* Sends waiting messages to followers whose sockets have room now, and removes those that have
 * left. The entries are those of ptrc_follow_poll(); no follower may be added in between. */
void ptrc_follow_serve(struct ptrc_follow *, const struct pollfd *, size_t count);

/* Reads events for some milliseconds at most, and sends them. Returns whether there
 * are more. */
bool ptrc_follow_read(struct ptrc_follow *);

/* Must be called after posix_trace_clear(): the counts of the stream are 0 now. */
void ptrc_follow_cleared(struct ptrc_follow *);

/*
 * Reads and sends the rest of a stream that has been stopped. It waits for followers that
 * have no room, but not for ever.
 */
void ptrc_follow_finish(struct ptrc_follow *);

/* Sends the end to all followers that got everything before it, and removes all followers. */
void ptrc_follow_end(struct ptrc_follow *, const struct ptrc_follow_end *);

#endif
