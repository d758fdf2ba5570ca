/* SPDX-License-Identifier: MIT */
/*
 * Serves the followers of a session, and clients that ask for what the stream holds now (snapshots). Each of them
 * has a cursor of its own, so it takes no events away from other followers, the stream or the log. The controller
 * reads the stream every PTRC_FOLLOW_READ_MS and does not wait for events. So traced processes never have to wake a
 * reader.
 *
 * While the socket of a follower is full, the controller reads no events for it. If events are overwritten or
 * flushed meanwhile, the follower misses them. A STATUS packet in its log reports their number.
 *
 * A follower gets a log (session_protocol.h), in parts that the library makes of the events at its cursor. The end
 * of the log may be sent after the stream has been shut down.
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
	/* ptrc_follow_read() has to be called at this interval while there are followers. */
	PTRC_FOLLOW_READ_MS = 2,
};

/* Counts of events for a follower. All are 0 after a clear. */
struct ptrc_follow_counts {
	/* The counts at the time when the follower connected. lost_before: the events that were lost in the stream.
	 * unobserved_before: those of the operating system that the kernel has lost; 0 for a snapshot. written_before:
	 * those that were written to the log. */
	uint64_t lost_before;
	uint64_t unobserved_before;
	uint64_t written_before;
	/* The number of events that the follower got or that is_overtaken() found missing. If the log has got more
	 * events than this since the follower connected, the follower has missed some more. */
	uint64_t taken;
	/* The numbers in the last STATUS packet: the events that the stream has overwritten, or not recorded for lack
	 * of room; and those that were flushed to the session's log before they could be sent. */
	uint64_t lost;
	uint64_t flushed;
};

/* The state of the session when it ended. It is written into the STATUS packet at the end of a follower's
 * log. */
struct ptrc_follow_end {
	/* The result of the stream's shutdown, for example an error of writing the log; 0: no error. */
	int error;
	struct posix_trace_status_info status;
	struct ptrc_counts counts;
};

struct ptrc_follower {
	int fd;
	struct posixtrace_cursor *cursor;
	/* The cursor ends with the events that the stream held when the cursor was opened. */
	bool is_snapshot;
	bool is_finished;
	bool is_gone;
	/* Bytes that wait for room in the socket, or NULL. */
	unsigned char *pending;
	size_t pending_size;
	/* How many bytes of .pending were sent. */
	size_t sent;
	/* The monotonic time at which the socket last accepted bytes. */
	int64_t progress_ns;
	struct ptrc_follow_counts counts;
	/* The events that the follower had missed before the last clear, as .counts counts them. */
	uint64_t cleared_lost;
	uint64_t cleared_flushed;
	/* The monotonic time at which missed events were last counted. */
	int64_t counted_ns;
	/* Events may have been missed since then. */
	bool is_behind;
	/* Events may be missing before, among or directly after those of the last part. */
	bool is_lacking;
	/* An error has made a gap in the follower's log, or at the end of the session its socket was full and the
	 * cursor had more events. After the bytes in .pending nothing more is sent, not even END. */
	bool is_incomplete;
	/* The state of the session when the follower connected, with later counts if events were missed. STATUS
	 * packets are made from it, except the one at the end of the session. */
	struct ptrc_follow_end end;
};

/* The followers of a session. Zeroed at the start. */
struct ptrc_follow {
	trace_id_t trace;
	bool has_log;
	struct ptrc_follower *followers[PTRC_FOLLOWERS_MAX];
	size_t count;
};

/* Adds a follower, and takes over its descriptor. A snapshot ends by itself; its last STATUS packet has the
 * status and counts of *state. Returns 0, EMFILE if there are too many followers, or another error number. */
int ptrc_follow_add(struct ptrc_follow *, int fd, bool is_snapshot,
		    const struct ptrc_session_state *state);

/* Sends the start of its log to the follower that was added last: the names of all event types, and the first
 * events and STATUS packet. */
void ptrc_follow_greet(struct ptrc_follow *);

/* Fills in an entry of poll()'s array for each follower. Returns the number of followers. */
size_t ptrc_follow_poll(const struct ptrc_follow *, struct pollfd *);

/* Sends waiting bytes to the followers whose sockets have room, and removes followers that have closed their
 * connections. Takes the entries that ptrc_follow_poll() has filled in; since then, no follower may have been added. */
void ptrc_follow_serve(struct ptrc_follow *, const struct pollfd *, size_t count);

/* Reads events for at most 10 ms and sends them. Returns whether there are more events. */
bool ptrc_follow_read(struct ptrc_follow *);

/* Counts what the followers have missed, before posix_trace_clear(): the stream's counts are then reset. */
void ptrc_follow_clear(struct ptrc_follow *);

/* Resets the counts of the followers after posix_trace_clear(). What they had missed before remains missed. */
void ptrc_follow_cleared(struct ptrc_follow *);

/* Reads the rest of the events of a stopped stream and sends them. Waits at most 5 s for followers whose sockets
 * are full. */
void ptrc_follow_finish(struct ptrc_follow *);

/* Sends END to all followers that got everything before it. Then removes all followers. */
void ptrc_follow_end(struct ptrc_follow *, const struct ptrc_follow_end *);

#endif
