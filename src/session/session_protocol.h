/* SPDX-License-Identifier: MIT */
/*
 * What a session's controller and the commands that are its clients say to each other.
 *
 * A session is a background process, the controller, that holds one stream. It listens on a
 * socket of type SOCK_SEQPACKET (see session_path.h). A client sends one request, followed by
 * its texts if it has any. It gets a reply of kind WORKING if the request may take long, and
 * then, in any case, one of kind DONE. Only FOLLOW and DUMP keep the connection: after DONE come
 * messages with events (see below), and the last message tells the end.
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

#include <posixtrace.h>

#include "src/session/session_path.h"
#include "src/view/attributes.h"

#define PTRC_SESSION_MAGIC UINT32_C(0x53435450)
#define PTRC_SESSION_VERSION 6U

/* Bytes of all texts of one request, each with the null byte that ends it. */
#define PTRC_SESSION_TEXTS_MAX 65536U
/* Bytes of the page in a reply. */
#define PTRC_SESSION_PAGE_MAX 32768U

/* How long a client waits for DONE after WORKING: the controller may have to write much to a
 * slow disk. */
#define PTRC_SESSION_WORK_MS 60000
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
	/* Only followers get these. */
	PTRC_SESSION_EVENTS = 3,
	PTRC_SESSION_END = 4,
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
	uint32_t reserved;
	struct ptrc_attributes attributes;
	/* An overrun or a flush error since creation or clear stays in it, however often
	 * somebody has asked for the status. */
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
	/* Events of all types, and how long the trace has been running, since creation or
	 * clear. */
	uint64_t event_count;
	uint64_t running_ns;
	char name[PTRC_SESSION_NAME_MAX + 1];
	char log[PATH_MAX];
};

/*
 * A page is a sequence of these, each followed by the name without a null byte and padded to
 * 8 bytes. A pattern has the identifier 0, .is_filtered unless it says what alone is recorded, and
 * .events 1 if it matches a name.
 */
struct ptrc_session_type_record {
	uint32_t id;
	uint16_t name_size;
	uint16_t is_filtered;
	uint64_t events;
	uint64_t bytes;
	uint64_t truncated;
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
	union {
		struct ptrc_session_state state;
		unsigned char page[PTRC_SESSION_PAGE_MAX];
	};
};

/*
 * ---- What a session sends to its followers ----
 *
 * First come messages of kind EVENTS, each of which holds records one behind the other. The last
 * message is of kind END.
 *
 * A record begins at a multiple of 8 bytes. If the data of an event does not fit into the rest of
 * a message, it goes on in DATA records in the next messages, and no other record comes in
 * between. A follower that is too slow misses events, of which MISSED tells some time later. Where
 * events were lost in the stream, system events of type OVERFLOW and RESUME stand in their place.
 */

/* Bytes of all records in one message. */
#define PTRC_SESSION_EVENTS_MAX 32768U

enum ptrc_session_record_kind {
	/* struct ptrc_session_event, then the data or its first part. */
	PTRC_SESSION_RECORD_EVENT = 1,
	/* More data of the event before. */
	PTRC_SESSION_RECORD_DATA = 2,
	/* The name of the event type .id. It comes before the first event that needs it. */
	PTRC_SESSION_RECORD_NAME = 3,
	/* struct ptrc_session_missed */
	PTRC_SESSION_RECORD_MISSED = 4,
};

/* How many events the follower has missed since it came or the session was cleared. */
struct ptrc_session_missed {
	/* Overwritten in the stream, or not recorded because there was no room. */
	uint64_t lost;
	/* Flushed to the log before they could be sent. */
	uint64_t flushed;
};

struct ptrc_session_record {
	uint16_t kind;
	uint16_t id;
	/* Bytes that follow, without padding. */
	uint32_t size;
};

struct ptrc_session_event {
	int64_t time_s;
	int64_t time_ns;
	uint64_t address;
	uint64_t thread;
	/* Bytes of the data in all records. */
	uint64_t data_size;
	int32_t pid;
	/* The kernel's ID of the thread. */
	int32_t tid;
	int32_t truncation;
	uint32_t reserved;
};

/* The head of a message, before its records. */
struct ptrc_session_events {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	uint32_t size;
	uint32_t reserved;
};

/* A whole END message. */
struct ptrc_session_end {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	/* The error number of writing the log, or 0. */
	int32_t error;
	uint32_t has_log;
	/* A snapshot also counts as lost what the stream lost before. */
	struct ptrc_session_missed missed;
	/* At the end of the session, or at the begin of a snapshot. */
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
};

/* Records in messages begin at multiples of 8 bytes. */
static inline size_t ptrc_session_padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

#endif
