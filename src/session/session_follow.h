/* SPDX-License-Identifier: MIT */
/*
 * How the controller serves the followers of its session: it reads events from the stream
 * while processes record them, and sends them to all followers.
 *
 * Reading a stream that has a log takes nothing from the log. Reading a stream without one
 * consumes the events, as for any other reader. The controller does not wait at the stream but
 * reads it every PTRC_FOLLOW_READ_MS, so that traced processes have no reader to wake.
 *
 * While the sockets of all followers are full, the controller does not read, because the
 * stream has more room than a socket. After PTRC_FOLLOW_PATIENCE_MS it goes on and counts what
 * these followers miss; but from a stream without a log it does not read then either, as the
 * events would be lost.
 */
#ifndef PTRC_SRC_SESSION_SESSION_FOLLOW_H
#define PTRC_SRC_SESSION_SESSION_FOLLOW_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace.h>

#include "src/view/reader.h"
#include "src/session/session_protocol.h"

enum {
	PTRC_FOLLOWERS_MAX = 8,
	/* While anybody follows, ptrc_follow_read() is to be called so often. */
	PTRC_FOLLOW_READ_MS = 2,
	PTRC_FOLLOW_PATIENCE_MS = 500,
	/* How long the controller waits at the end of a session for followers whose
	 * sockets are full: once before the log is closed, and once after. */
	PTRC_FOLLOW_END_MS = 500,
};

struct ptrc_follow_message {
	struct ptrc_follow_message *next;
	size_t size;
	unsigned char bytes[];
};

struct ptrc_follower {
	int fd;
	/* Messages that the socket had no room for: one message, and after it those with the
	 * rest of its last event. If there are none, .pending is null and .blocked_since_ns has
	 * no meaning. */
	struct ptrc_follow_message *pending;
	struct ptrc_follow_message **pending_end;
	int64_t blocked_since_ns;
	/* The last message was sent to the follower, or is pending. So the follower also gets
	 * the rest of the event that this message ends with. */
	bool has_begin;
	/* Events that were not sent to this follower, and how many of these it has not
	 * been told of. */
	uint64_t dropped;
	uint64_t untold;
	/* Events that went to the log before the controller had read them, so that no follower
	 * gets them: how many there were when this follower came, and how many came since. The
	 * second number is known only at the end. */
	int64_t missed_before;
	uint64_t missed;
	/* The follower has missed events, and nobody knows how many. */
	bool is_incomplete;
};

/* Starts zeroed. While nobody follows, no memory is used besides this structure. */
struct ptrc_follow {
	trace_id_t trace;
	bool has_log;
	struct ptrc_follower followers[PTRC_FOLLOWERS_MAX];
	size_t count;
	/* The message that is being filled, how many bytes it has, and how many events
	 * begin in it. */
	unsigned char *batch;
	size_t used;
	uint64_t batch_events;
	/* The message continues an event that began in an earlier one. */
	bool is_rest;
	/* A buffer for the data of one event. */
	unsigned char *data;
	size_t data_size;
	/* The event types whose names all followers have got. */
	bool is_named[PTRC_READER_IDS];
	/* User events that were read since the stream was made or cleared. */
	uint64_t read_count;
};

/* Makes the connection that of a follower, and then owns its descriptor. Returns 0, EMFILE if
 * there are too many followers, or another error number. */
int ptrc_follow_add(struct ptrc_follow *, int fd);

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
void ptrc_follow_end(struct ptrc_follow *, const struct ptrc_session_end *);

#endif
