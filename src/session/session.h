/* SPDX-License-Identifier: MIT */
/*
 * A session: a background process, the controller, that holds one stream, and the
 * commands that are its clients.
 *
 * The controller listens on the socket c.<session name> in the user's own directory of
 * shared objects, /dev/shm/posixtrace-<effective user>, mode 0700. The socket is of type
 * SOCK_SEQPACKET; a client sends one request, with texts behind it if it has any, and
 * gets, if the request takes long, a reply of kind WORKING, and then one of kind DONE.
 * FOLLOW alone keeps the connection: after DONE come messages with events
 * (session_events.h), the last of which tells the end. Both sides check who the other is
 * (SO_PEERCRED), and the sizes of all that comes. The controller never waits for a
 * client, a client never without limit for the controller. A socket that refuses
 * connections belonged to a controller that was killed; whoever finds it removes it. The
 * log needs no help then: its keeper closes it.
 *
 * Both sides are of one machine and, as a rule, of one version; a difference is told, not
 * bridged.
 */
#ifndef PTRC_SRC_SESSION_SESSION_H
#define PTRC_SRC_SESSION_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace.h>

#include "src/view/attributes.h"
#include "src/cli/cli.h"
#include "src/session/filter_rules.h"

/* Bytes of a session's name without its null: as much as always fits in the name of a
 * socket. */
#define PTRC_SESSION_NAME_MAX 64

#define PTRC_SESSION_MAGIC UINT32_C(0x53435450)
#define PTRC_SESSION_VERSION 3U

/* Bytes of the texts of one request, each with the null byte that ends it. */
#define PTRC_SESSION_TEXTS_MAX 65536U
/* Bytes of a reply's page. */
#define PTRC_SESSION_PAGE_MAX 32768U

/* How long a client waits for a sign of life, and for the end of something that the
 * controller has begun, which may have to write much to a slow disk. */
#define PTRC_SESSION_ANSWER_MS 5000
#define PTRC_SESSION_WORK_MS 60000
/* A follower that waits for events looks up so often: a signal that comes just before it
 * sleeps does not interrupt the sleep. */
#define PTRC_SESSION_LOOK_UP_MS 1000

enum ptrc_session_verb {
	PTRC_SESSION_STAT = 1,
	PTRC_SESSION_START = 2,
	PTRC_SESSION_STOP = 3,
	PTRC_SESSION_FLUSH = 4,
	PTRC_SESSION_CLEAR = 5,
	PTRC_SESSION_SHUTDOWN = 6,
	/* Flags say what is done to the filter, texts are names and globs. */
	PTRC_SESSION_FILTER = 7,
	/* A page of event types, and of the globs that are kept. */
	PTRC_SESSION_TYPES = 8,
	PTRC_SESSION_FOLLOW = 9,
};

/* Flags of FILTER: one of the first three, with any of the others. */
enum {
	PTRC_SESSION_FILTER_SET = 1,
	PTRC_SESSION_FILTER_ADD = 2,
	PTRC_SESSION_FILTER_REMOVE = 4,
	PTRC_SESSION_FILTER_SYSTEM = 8,
	PTRC_SESSION_FILTER_ALL = 16,
	/* Register unknown names, keep globs. */
	PTRC_SESSION_FILTER_NEW = 32,
};

enum ptrc_session_kind {
	PTRC_SESSION_WORKING = 1,
	PTRC_SESSION_DONE = 2,
	/* See session_events.h. */
	PTRC_SESSION_EVENTS = 3,
	PTRC_SESSION_END = 4,
};

struct ptrc_session_request {
	uint32_t magic;
	uint16_t version;
	uint16_t verb;
	uint32_t flags;
	/* Where a page of TYPES begins: 0, or what the reply before called next. */
	uint32_t from;
	/* Of the texts. */
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
	struct ptrc_attributes attributes;
	/* Overrun and flush error since creation or clear, however often they were asked
	 * for. */
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
	/* Events of all types, and how long the trace has been running; since creation or
	 * clear, too. */
	uint64_t event_count;
	uint64_t running_ns;
	char name[PTRC_SESSION_NAME_MAX + 1];
	char log[PATH_MAX];
};

/* One of these per event type in a page, then its name without a null byte, padded to 8
 * bytes. A kept glob comes as an identifier 0. */
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
	/* Error number of what was asked for, or 0. */
	int32_t error;
	/* enum ptrc_session_body: STATE for STAT, SHUTDOWN and FOLLOW. */
	uint32_t body;
	/* Bytes of the body. */
	uint32_t size;
	/* Which of the texts, from 0, is the cause of an error. */
	uint32_t text;
	/* TYPES: where the next page begins; 0 after the last. */
	uint32_t next;
	/* TYPES: the filter has event types that are still to be opened in it, that is,
	 * all. */
	uint32_t is_all_filtered;
	union {
		struct ptrc_session_state state;
		unsigned char page[PTRC_SESSION_PAGE_MAX];
	};
};

/*
 * Letters, digits and . _ - + : @ = , make up a session's name, and no - begins it; so a
 * name is the name of a file and needs no quotes.
 */
bool ptrc_session_is_name(const char *name);

/* Path of the directory, which is made if it is not there and asked for. 0, EPERM if it
 * is not safe, or another error number. */
int ptrc_session_directory(bool is_create, char path[64]);

/* Says why it cannot be used: one of those errors. */
void ptrc_session_say_directory(int error);

/* What is asked of a session. */
struct ptrc_session_question {
	enum ptrc_session_verb verb;
	uint32_t flags;
	uint32_t from;
	const char *const *texts;
	size_t text_count;
};

/*
 * Asks the session; *reply gets the last reply, and for SHUTDOWN the controller has
 * ended.
 *   ENOENT        no such session
 *   ECONNREFUSED  its controller was killed; the name is free again
 *   ETIMEDOUT     no answer in time
 *   EPERM         the directory is not safe, or the other side is somebody else
 *   EPROTO        not an answer of this version
 *   ECONNRESET    the controller ended without an answer
 *   E2BIG         more than PTRC_SESSION_TEXTS_MAX bytes of texts
 *   others        of socket() or connect()
 */
int ptrc_session_ask(const char *name, enum ptrc_session_verb,
		     struct ptrc_session_reply *reply);
int ptrc_session_ask_about(const char *name, const struct ptrc_session_question *,
			   struct ptrc_session_reply *reply);

/* Whether somebody listens there: 0, or one of those. Asking removes the socket of a dead
 * session; this does not. */
int ptrc_session_knock(const char *name);

/*
 * The same for STAT and many sessions at once, so that mute ones cost the time of one.
 * Each has a reply and an error number.
 */
void ptrc_session_stat_all(char *const *names, size_t count, bool is_removing,
			   struct ptrc_session_reply *replies, int *errors);

/* The same for FOLLOW; *fd gets the connection, where waiting ends with EAGAIN every
 * PTRC_SESSION_LOOK_UP_MS, and *controller_fd a pidfd of the controller, or -1. */
int ptrc_session_follow(const char *name, struct ptrc_session_reply *reply, int *fd,
			int *controller_fd);

/* An event type of a session. */
struct ptrc_session_type {
	trace_event_id_t id;
	bool is_filtered;
	uint64_t events;
	uint64_t bytes;
	uint64_t truncated;
	char *name;
};

struct ptrc_session_types {
	/* In the order of their identifiers. */
	struct ptrc_session_type *types;
	size_t count;
	/* Kept, for names that are still to be opened. */
	char **globs;
	size_t glob_count;
	/* Every event type that is still to be opened is filtered out. */
	bool is_all_filtered;
};

/* Asks for them, page by page. Errors as above; nothing is to be freed then. */
int ptrc_session_types_get(const char *name, struct ptrc_session_types *);
void ptrc_session_types_free(struct ptrc_session_types *);

/* Text for one of those. */
const char *ptrc_session_explain(int error);

/* Names of all sockets of sessions, also of dead ones, sorted, and their number. Free each
 * and the list. Sockets left by who had no name yet are removed if asked for. Without a
 * directory there are none; the error, with none too, if it cannot be looked into. */
int ptrc_session_names(bool is_removing, char ***names, size_t *count);

/*
 * main() of the commands that ask every session named as an operand for one thing. The
 * table of options is the command's.
 */
struct ptrc_cli;
int ptrc_session_main(int argc, char **argv, const struct ptrc_cli *,
		      enum ptrc_session_verb);

/* Keys of the options that they may have. */
enum {
	PTRC_SESSION_KEY_ALLOW_LOSS = PTRC_CLI_KEY_FIRST,
	PTRC_SESSION_KEY_JSON,
	PTRC_SESSION_KEY_ALL,
};

/* --- controller --- */

/* What a session is made from. */
struct ptrc_session_plan {
	pid_t target;
	const trace_attr_t *attr;
	/* Wanted name, or null: one is made from this. */
	const char *name;
	const char *name_stem;
	/* Descriptor and absolute path of the log, or -1 and null. */
	int log_fd;
	const char *log_path;
	/* What is filtered out from the start, or null. The controller keeps it. */
	struct ptrc_filter_rules *filter;
	bool is_until_exit;
	bool is_started;
};

/* How making it went; sent from the controller to the command that made it. */
struct ptrc_session_outcome {
	/* 0: it serves. */
	int32_t error;
	/* What failed: enum ptrc_session_stage */
	int32_t stage;
	/* Process ID of the controller. */
	int32_t controller;
	char name[PTRC_SESSION_NAME_MAX + 1];
};

enum ptrc_session_stage {
	PTRC_SESSION_STAGE_PROCESS,
	PTRC_SESSION_STAGE_DIRECTORY,
	PTRC_SESSION_STAGE_NAME,
	PTRC_SESSION_STAGE_STREAM,
	PTRC_SESSION_STAGE_FILTER,
};

/* Makes the controller; returns when it serves or has failed. */
void ptrc_session_create(const struct ptrc_session_plan *, struct ptrc_session_outcome *);

#endif
