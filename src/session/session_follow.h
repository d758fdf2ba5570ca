/* SPDX-License-Identifier: MIT */
/*
 * The controller's side of following a session: reads the stream as events come, and
 * sends them to all followers.
 *
 * Reading a logged stream takes nothing from its log; of a plain stream, what is read is
 * gone, as for any reader. The stream is read every PTRC_FOLLOW_READ_MS instead of being
 * waited at, so the traced processes never have a reader to wake. While every follower's
 * socket is full, the stream is left alone: it holds more than a socket does. After
 * PTRC_FOLLOW_PATIENCE_MS events are read on without those followers, and counted; a
 * plain stream is left alone for good, as its events would be gone.
 */
#ifndef PTRC_SRC_SESSION_SESSION_FOLLOW_H
#define PTRC_SRC_SESSION_SESSION_FOLLOW_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace.h>

#include "src/view/reader.h"
#include "src/session/session_events.h"

enum {
	PTRC_FOLLOWERS_MAX = 8,
	PTRC_FOLLOW_READ_MS = 2,
	PTRC_FOLLOW_PATIENCE_MS = 500,
	/* How long the end of a session waits for followers whose sockets are full: twice,
	 * before the log is closed and after. */
	PTRC_FOLLOW_END_MS = 500,
};

struct ptrc_follow_message {
	struct ptrc_follow_message *next;
	size_t size;
	unsigned char bytes[];
};

struct ptrc_follower {
	int fd;
	/* A message that its socket had no room for, with the rest of an event that goes on
	 * in further ones, or null; since when. */
	struct ptrc_follow_message *pending;
	struct ptrc_follow_message **pending_end;
	int64_t blocked_since_ns;
	/* The last message was sent or is pending: the rest of its event is, too. */
	bool has_begin;
	/* Events that it was not sent; those of them that it has not been told of. */
	uint64_t dropped;
	uint64_t untold;
	/* Events that were in the log before anybody could be sent them: before it came,
	 * and, known at the end, since. */
	int64_t missed_before;
	uint64_t missed;
	/* It misses something, nobody knows how much. */
	bool is_incomplete;
};

/* Starts zeroed. Nothing but this structure is there while nobody follows. */
struct ptrc_follow {
	trace_id_t trace;
	bool has_log;
	struct ptrc_follower followers[PTRC_FOLLOWERS_MAX];
	size_t count;
	/* The message that is being put together, and the events that begin in it. */
	unsigned char *batch;
	size_t used;
	uint64_t batch_events;
	/* It goes on with an event that began in an earlier one. */
	bool is_rest;
	/* Place for the data of an event. */
	unsigned char *data;
	size_t data_size;
	/* Whose names all followers have. */
	bool is_named[PTRC_READER_IDS];
	/* User events read since the stream was made or cleared, for whomever. */
	uint64_t read_count;
};

/* Takes a connection over. 0, EMFILE if there are too many, or another error number. */
int ptrc_follow_add(struct ptrc_follow *, int fd);

/* Fills in what is to be waited for; returns how many these are. */
size_t ptrc_follow_poll(const struct ptrc_follow *, struct pollfd *);

/* Goes on with those that have room, lets go of those that have left. To be called with
 * what ptrc_follow_poll() has filled in, before followers are added. */
void ptrc_follow_serve(struct ptrc_follow *, const struct pollfd *, size_t count);

/* Milliseconds until ptrc_follow_read() should be called; -1 if nobody follows. */
int ptrc_follow_timeout(const struct ptrc_follow *);

/* Reads what is there, for some milliseconds at most, and sends it. True if there is
 * more. */
bool ptrc_follow_read(struct ptrc_follow *);

/* The events of the stream are gone, and its counts are 0. */
void ptrc_follow_cleared(struct ptrc_follow *);

/*
 * The stream has been stopped and will be shut down: reads and sends the rest, waiting
 * for followers within limits.
 */
void ptrc_follow_finish(struct ptrc_follow *);

/* Sends the end to all who got everything before it, and lets go of all. */
void ptrc_follow_end(struct ptrc_follow *, const struct ptrc_session_end *);

#endif
