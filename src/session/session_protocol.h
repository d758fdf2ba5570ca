/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the controller of a session and the commands that are its clients.
 *
 * A session is a background process, the controller, which has one stream. It listens on a SOCK_SEQPACKET
 * socket (see session_path.h). A client sends one request; texts may follow in the same message. It then gets
 * a reply of kind DONE. If the request may take long, it gets a reply of kind WORKING before. Only FOLLOW and
 * DUMP keep the connection open: after DONE comes a log, in several messages (see the end of this file).
 *
 * Each side checks the user of the other side (SO_PEERCRED) and the size of every message. The controller
 * never waits for a client. A client waits for the controller only for the times PTRC_SESSION_*_MS.
 *
 * Both run on one machine, but may be of different releases. All releases 1.x have version 1 of
 * the protocol. Later releases add verbs, flags, or members in space that is reserved and 0 today.
 * A controller answers a verb or a flag that it does not know with ENOSYS. It answers a message of
 * another version with its own version, and the client reports both.
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
#define PTRC_SESSION_VERSION 1U

/* The most bytes that all texts of a request may have, including their null bytes. */
#define PTRC_SESSION_TEXTS_MAX 65536U
/* The most bytes of a page, which is a part of the list of event types, in a reply to TYPES. */
#define PTRC_SESSION_PAGE_MAX 32768U

/* How long a client waits for the reply DONE after the reply WORKING. This is long, because the keeper (the
 * process that writes the log) may have to write much to a slow disk. */
#define PTRC_SESSION_WORK_MS 60000
/* After WORKING, a client gives up early if the controller or the keeper has been stalled for this long. */
#define PTRC_SESSION_STALL_MS 4000
/* How often a client that waits for DONE checks whether the controller or the keeper is stalled. */
#define PTRC_SESSION_STALL_LOOK_MS 200
/* How often a follower that waits for events checks for a signal. A signal that comes just before the
 * follower sleeps does not interrupt the sleep. */
#define PTRC_SESSION_LOOK_UP_MS 1000

enum ptrc_session_verb {
	PTRC_SESSION_STAT = 1,
	PTRC_SESSION_START = 2,
	PTRC_SESSION_STOP = 3,
	PTRC_SESSION_FLUSH = 4,
	PTRC_SESSION_CLEAR = 5,
	PTRC_SESSION_SHUTDOWN = 6,
	/* Changes the filter by the flags PTRC_SESSION_FILTER_*. The request's texts are names and globs. */
	PTRC_SESSION_FILTER = 7,
	/* Asks for a page (a part of the list) of the event types and the patterns. */
	PTRC_SESSION_TYPES = 8,
	/* FOLLOW asks for a log of the events in the stream and all later events; DUMP, of only those in the stream. */
	PTRC_SESSION_FOLLOW = 9,
	PTRC_SESSION_DUMP = 10,
	PTRC_SESSION_VERBS,
};

/* Flags of FILTER: either exactly one of SET, ADD and REMOVE, and any of SYSTEM, ALL and NEW; or only PATTERNS. */
enum {
	PTRC_SESSION_FILTER_SET = 1,
	PTRC_SESSION_FILTER_ADD = 2,
	PTRC_SESSION_FILTER_REMOVE = 4,
	PTRC_SESSION_FILTER_SYSTEM = 8,
	PTRC_SESSION_FILTER_ALL = 16,
	/* The request's texts become patterns, which apply also to names that programs open later. */
	PTRC_SESSION_FILTER_NEW = 32,
	/* The request's texts replace all patterns of the session. The first byte of each text is
	 * PTRC_SESSION_PATTERN_ONLY or PTRC_SESSION_PATTERN_EXCLUDE. */
	PTRC_SESSION_FILTER_PATTERNS = 64,
	PTRC_SESSION_FILTER_FLAGS = 127, /* the sum of all flags */
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
	/* For TYPES, where the page starts: 0 for the first page, otherwise .next of the reply before. */
	uint32_t from;
	/* The number of bytes of the texts that follow this structure, including their null bytes. */
	uint32_t size;
	uint32_t reserved;
};

/* The snapshots that a session has made by itself (snapshots.h). All members are 0 if the session makes none. */
struct ptrc_snapshots_state {
	uint64_t max;
	uint64_t written;
	uint64_t failed;
	/* The number of events that were lost before the controller looked at them, any of which may have
	 * called for a snapshot. 0 while the controller still looks for such events. */
	uint64_t unseen_events;
	/* When the event that made the last snapshot was recorded: seconds since 1970, and nanoseconds. */
	int64_t time_s;
	int64_t time_ns;
	/* The error number of the last snapshot that failed; 0 if none failed. */
	int32_t error;
	/* 1 if a snapshot was not made because .max snapshots had already been written or had failed. */
	uint32_t is_used_up;
	/* The name of the event that made the last snapshot. */
	char event[TRACE_EVENT_NAME_MAX + 1];
	/* The path of the last snapshot that was written; empty if there is none. */
	char path[PATH_MAX];
};

/* Declares a structure in a space of fixed size, so that later releases can add members at its end. A member
 * that the sender does not know is 0. */
#define PTRC_SESSION_ROOM(type, name, bytes) \
	union {                              \
		type name;                   \
		char room_of_##name[bytes];  \
	};                                   \
	_Static_assert(sizeof(type) <= (bytes), "the room for " #name " is fixed")

struct ptrc_session_state {
	int32_t controller;
	int32_t target;
	uint32_t has_log;
	uint32_t is_target_alive;
	uint32_t is_until_exit;
	/* 1 if the log's path no longer leads to the log, because the file was moved or deleted. */
	uint32_t is_log_gone;
	/* 1 if the controller is ptrace-run, 0 if it is a background process of ptrace-create. */
	uint32_t is_run;
	/* The pid namespace of .controller and .target; 0 if it is unknown. */
	uint32_t pid_namespace;
	PTRC_SESSION_ROOM(struct ptrc_attributes, attributes, 1024);
	/* Unlike what posix_trace_get_status() returns, an overrun or a flush error stays here until CLEAR. */
	struct posix_trace_status_info status;
	PTRC_SESSION_ROOM(struct ptrc_counts, counts, 512);
	/* The number of events of all types, and how long the trace has been running, both since the trace
	 * was created or last cleared. */
	uint64_t event_count;
	uint64_t running_ns;
	PTRC_SESSION_ROOM(struct ptrc_snapshots_state, snapshots, 4608);
	char name[PTRC_SESSION_NAME_MAX + 1];
	char log[PATH_MAX];
	/* 1 while the session is being ended: its trace was stopped, and its log is being completed. Only STAT and SHUTDOWN
	 * are then answered; for other requests, the connection is closed. */
	uint32_t is_ending;
	/* The number of traced processes that went on after COMMAND of ptrace-run when the recording ended. */
	uint32_t went_on;
	char reserved[248];
};

/*
 * A page (the body of a reply to TYPES) is a sequence of struct ptrc_session_type_record. The name and the layout
 * follow each record, both without a null byte, and are padded to a multiple of 8 bytes. A type without a layout
 * has .layout_size 0. A pattern also has a record: its .id is 0, its .is_filtered is an enum ptrc_session_pattern,
 * its .bytes is an enum ptrc_snapshot_lack, and its .events is 1 if it lacks nothing. A pattern of --only or --exclude
 * can lack only the name.
 */
enum ptrc_session_pattern {
	PTRC_SESSION_PATTERN_IS_ONLY = 0,
	PTRC_SESSION_PATTERN_IS_EXCLUDE = 1,
	PTRC_SESSION_PATTERN_IS_SNAPSHOT = 2,
};

/* The part of a text of --snapshot-on that no event has: the name, which is a pattern or that of a pair's first event;
 * the name of the pair's last event; or the field of `by`. */
enum ptrc_snapshot_lack {
	PTRC_SNAPSHOT_LACKS_NOTHING = 0,
	PTRC_SNAPSHOT_LACKS_NAME = 1,
	PTRC_SNAPSHOT_LACKS_END = 2,
	PTRC_SNAPSHOT_LACKS_FIELD = 3,
};

/* A text of --snapshot-on that lacks something. */
struct ptrc_idle_snapshot {
	char *text;
	enum ptrc_snapshot_lack lack;
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
_Static_assert(sizeof(struct ptrc_session_type_record) == 40, "the layout of pages is fixed");

enum ptrc_session_body {
	PTRC_SESSION_BODY_NONE = 0,
	PTRC_SESSION_BODY_STATE = 1,
	PTRC_SESSION_BODY_PAGE = 2,
};

struct ptrc_session_reply {
	uint32_t magic;
	uint16_t version;
	/* An enum ptrc_session_kind. */
	uint16_t kind;
	int32_t error;
	/* An enum ptrc_session_body. STATE answers STAT, FOLLOW and DUMP, and SHUTDOWN if the session has a log or
	 * makes snapshots. */
	uint32_t body;
	uint32_t size;
	/* If .error is not 0: the index of the request's text that caused the error. */
	uint32_t text;
	/* In a reply to TYPES: where the next page starts; 0 if this page is the last one. */
	uint32_t next;
	/* The keeper, which writes the log, by its pid in the controller's pid namespace; 0 if there is no log, or it is
	 * unknown. */
	int32_t keeper;
	uint32_t reserved[2];
	union {
		struct ptrc_session_state state;
		unsigned char page[PTRC_SESSION_PAGE_MAX];
	};
};
_Static_assert(sizeof(struct ptrc_session_request) == 24 &&
		       offsetof(struct ptrc_session_reply, state) == 40,
	       "the starts of messages are fixed");
_Static_assert(offsetof(struct ptrc_session_state, attributes) == 32 &&
		       offsetof(struct ptrc_session_state, counts) == 1088 &&
		       offsetof(struct ptrc_session_state, snapshots) == 1616 &&
		       offsetof(struct ptrc_session_state, log) == 6289 &&
		       offsetof(struct ptrc_session_state, is_ending) == 10388 &&
		       sizeof(struct ptrc_session_state) == 10648,
	       "the state is fixed");

/*
 * ---- What a session sends to its followers ----
 *
 * The bytes of all messages together are a log (docs/log-format.md). Each follower gets a log of its own. A
 * message may end within a packet and may contain several packets. The HEAD packet is in the first message.
 * The first STATUS packet follows the names of the event types that exist then. Another STATUS packet comes
 * when the follower was too slow and has missed more events. In a STATUS packet, "events lost in the log"
 * counts the events that the session flushed to its own log before it could send them. The END packet is the
 * last one. If it is missing, the rest of the events is missing, too.
 */

/* The most bytes of one of these messages. */
#define PTRC_SESSION_PIECE_MAX 32768U

/* Rounds a size up: each record in a page begins at a multiple of 8 bytes. */
static inline size_t ptrc_session_padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

#endif
