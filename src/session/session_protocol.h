/* SPDX-License-Identifier: MIT */
/*
 * What a session's controller and the commands that are its clients say to each other.
 *
 * A session is a background process, the controller, that holds one stream. It listens on a
 * socket of type SOCK_SEQPACKET (see session_path.h). A client sends one request, followed by
 * its texts if it has any. It gets a reply of kind WORKING if the request may take long, and
 * then, in any case, one of kind DONE. Only FOLLOW and DUMP keep the connection: after DONE comes
 * a log, in as many messages as it takes (see below).
 *
 * Either side checks which user the other belongs to (SO_PEERCRED), and the size of every
 * message. The controller never waits for a client; a client waits for the controller only
 * within the limits below. Both sides run on one machine and usually have the same version; if
 * the versions differ, the client says so and gives up.
 */
#ifndef PTRC_SRC_SESSION_SESSION_PROTOCOL_H
#define PTRC_SRC_SESSION_SESSION_PROTOCOL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "include/posixtrace-private.h"
#include "src/session/session_path.h"
#include "src/query/attributes.h"

#define PTRC_SESSION_MAGIC UINT32_C(0x53435450)
#define PTRC_SESSION_VERSION 10U

/* Bytes of all texts of one request, each with the null byte that ends it. */
#define PTRC_SESSION_TEXTS_MAX 65536U
/* Bytes of the page in a reply. */
#define PTRC_SESSION_PAGE_MAX 32768U

/* How long a client waits for DONE after WORKING: the controller may have to write much to a
 * slow disk. But no longer than the second time while the keeper is stopped or asleep, or the controller is stopped. */
#define PTRC_SESSION_WORK_MS 60000
#define PTRC_SESSION_STALL_MS 4000
/* How often it looks at the keeper. */
#define PTRC_SESSION_STALL_LOOK_MS 200
/* How often a follower that waits for events looks for a signal: one that comes just before the
 * follower sleeps does not interrupt the sleep. */
#define PTRC_SESSION_LOOK_UP_MS 1000

enum ptrc_session_verb {
	PTRC_SESSION_STAT = 1,
	PTRC_SESSION_START = 2,
	PTRC_SESSION_STOP = 3,
	PTRC_SESSION_FLUSH = 4,
	PTRC_SESSION_CLEAR = 5,
	PTRC_SESSION_SHUTDOWN = 6,
	/* The flags say how the filter is changed, the texts are names and globs. */
	PTRC_SESSION_FILTER = 7,
	/* Asks for one page of the event types and of the patterns. */
	PTRC_SESSION_TYPES = 8,
	PTRC_SESSION_FOLLOW = 9,
	/* As FOLLOW, but ends with what the stream holds now. */
	PTRC_SESSION_DUMP = 10,
	PTRC_SESSION_VERBS,
};

/* Flags of FILTER: exactly one of the first three, with any of the others. */
enum {
	PTRC_SESSION_FILTER_SET = 1,
	PTRC_SESSION_FILTER_ADD = 2,
	PTRC_SESSION_FILTER_REMOVE = 4,
	PTRC_SESSION_FILTER_SYSTEM = 8,
	PTRC_SESSION_FILTER_ALL = 16,
	/* The texts become patterns, which hold for names to come, too. */
	PTRC_SESSION_FILTER_NEW = 32,
	/* Alone: the texts are the patterns that the session has from now on, each behind one of
	 * the letters below. */
	PTRC_SESSION_FILTER_PATTERNS = 64,
};

#define PTRC_SESSION_PATTERN_ONLY '+'
#define PTRC_SESSION_PATTERN_EXCLUDE '-'

enum ptrc_session_kind {
	PTRC_SESSION_WORKING = 1,
	PTRC_SESSION_DONE = 2,
};

struct ptrc_session_request {
	uint32_t magic;
	uint16_t version;
	uint16_t verb;
	uint32_t flags;
	/* Where a page of TYPES begins: 0, or .next of the reply before. */
	uint32_t from;
	/* Bytes of the texts. */
	uint32_t size;
	uint32_t reserved;
};

/* The snapshots that a session has made by itself (snapshots.h). All is 0 if it makes none. */
struct ptrc_snapshots_state {
	uint64_t max;
	uint64_t written;
	uint64_t failed;
	/* Events that were overwritten before the controller had looked at them: any of them may have
	 * been one that makes a snapshot. */
	uint64_t unseen_events;
	/* When the event was recorded that made the last one. */
	int64_t time_s;
	int64_t time_ns;
	/* The error number of the last one that failed. */
	int32_t error;
	/* There was an event for which none was made, as there are as many as there may be. */
	uint32_t is_used_up;
	char event[TRACE_EVENT_NAME_MAX + 1];
	/* The last one that was written, or empty. */
	char path[PATH_MAX];
};

/* What a session is and how it is doing. */
struct ptrc_session_state {
	int32_t controller;
	int32_t target;
	uint32_t has_log;
	uint32_t is_target_alive;
	uint32_t is_until_exit;
	/* See ptrc_logfile_is_gone(). */
	uint32_t is_log_gone;
	/* The controller is ptrace-run. */
	uint32_t is_run;
	/* In which the numbers of controller and target are valid; 0: not known. */
	uint32_t pid_namespace;
	struct ptrc_attributes attributes;
	/* An overrun or a flush error since creation or clear stays in it, however often
	 * somebody has asked for the status. */
	struct posix_trace_status_info status;
	struct ptrc_counts counts;
	/* Events of all types, and how long the trace has been running, since creation or
	 * clear. */
	uint64_t event_count;
	uint64_t running_ns;
	struct ptrc_snapshots_state snapshots;
	char name[PTRC_SESSION_NAME_MAX + 1];
	char log[PATH_MAX];
};

/*
 * A page is a sequence of these, each followed by the name and the layout, both without a null byte,
 * and padded to 8 bytes. A type without a layout has the size 0 there. A pattern has the identifier 0, in
 * .is_filtered one of enum ptrc_session_pattern, and .events 1 if it matches a name.
 */
enum ptrc_session_pattern {
	PTRC_SESSION_PATTERN_IS_ONLY = 0,
	PTRC_SESSION_PATTERN_IS_EXCLUDE = 1,
	/* It makes snapshots. */
	PTRC_SESSION_PATTERN_IS_SNAPSHOT = 2,
};

struct ptrc_session_type_record {
	uint32_t id;
	uint16_t name_size;
	uint16_t is_filtered;
	uint64_t events;
	uint64_t bytes;
	uint64_t truncated;
	uint64_t layout_size;
};

enum ptrc_session_body {
	PTRC_SESSION_BODY_NONE = 0,
	PTRC_SESSION_BODY_STATE = 1,
	PTRC_SESSION_BODY_PAGE = 2,
};

struct ptrc_session_reply {
	uint32_t magic;
	uint16_t version;
	/* enum ptrc_session_kind */
	uint16_t kind;
	/* The error number of what was asked for, or 0. */
	int32_t error;
	/* enum ptrc_session_body; STATE answers STAT, SHUTDOWN, FOLLOW and DUMP. */
	uint32_t body;
	/* Bytes of the body. */
	uint32_t size;
	/* The index of the text that is the cause of an error. */
	uint32_t text;
	/* TYPES: where the next page begins; 0 after the last. */
	uint32_t next;
	/* TYPES: the filter holds every event type, also those that no program has opened yet. */
	uint32_t is_all_filtered;
	/* WORKING: the process that writes the log, in the controller's pid namespace; 0: unknown. */
	int32_t keeper;
	uint32_t reserved;
	union {
		struct ptrc_session_state state;
		unsigned char page[PTRC_SESSION_PAGE_MAX];
	};
};

/*
 * ---- What a session sends to its followers ----
 *
 * A log, in the bytes of all messages one behind the other (docs/log-format.md): each follower has its
 * own. A packet may go on in the next message, and a message may have several. HEAD is in the first
 * one. The first STATUS comes behind the names that there are; others follow when the follower has
 * missed more events, which it has if it is too slow. In a STATUS, the events lost in the log are those
 * that the session had flushed to its own log before it could send them. END is the last packet. If it
 * does not come, the rest is missing.
 */

/* Bytes of one message. */
#define PTRC_SESSION_PIECE_MAX 32768U

/* Records in a page begin at multiples of 8 bytes. */
static inline size_t ptrc_session_padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

#endif
