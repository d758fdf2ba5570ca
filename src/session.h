/* SPDX-License-Identifier: MIT */
/*
 * A session: a background process, the controller, that holds one stream, and the
 * commands that are its clients.
 *
 * The controller listens on the socket c.<session name> in the user's own directory of
 * shared objects, /dev/shm/posixtrace-<effective user>, mode 0700. The socket is of type
 * SOCK_SEQPACKET; a client sends one request and gets, if the request takes long, a reply
 * of kind WORKING, and then one of kind DONE. Both sides check who the other is
 * (SO_PEERCRED). A socket that refuses connections belonged to a controller that was
 * killed; whoever finds it removes it. The log needs no help then: its keeper closes it.
 *
 * Both sides are of one machine and, as a rule, of one version; a difference is told, not
 * bridged.
 */
#ifndef PTRC_SRC_SESSION_H
#define PTRC_SRC_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace.h>

#include "src/attributes.h"
#include "src/filter_rules.h"

/* Bytes of a session's name without its null: as much as always fits in the name of a
 * socket. */
#define PTRC_SESSION_NAME_MAX 64

#define PTRC_SESSION_MAGIC UINT32_C(0x53435450)
#define PTRC_SESSION_VERSION 1U

/* How long a client waits for a sign of life, and for the end of something that the
 * controller has begun, which may have to write much to a slow disk. */
#define PTRC_SESSION_ANSWER_MS 5000
#define PTRC_SESSION_WORK_MS 60000

enum ptrc_session_verb {
	PTRC_SESSION_STAT = 1,
	PTRC_SESSION_START = 2,
	PTRC_SESSION_STOP = 3,
	PTRC_SESSION_FLUSH = 4,
	PTRC_SESSION_CLEAR = 5,
	PTRC_SESSION_SHUTDOWN = 6,
};

enum ptrc_session_kind {
	PTRC_SESSION_WORKING = 1,
	PTRC_SESSION_DONE = 2,
};

struct ptrc_session_request {
	uint32_t magic;
	uint16_t version;
	uint16_t verb;
};

/* What a session is and how it is doing. */
struct ptrc_session_state {
	int32_t controller;
	int32_t target;
	uint32_t has_log;
	uint32_t is_target_alive;
	uint32_t is_until_exit;
	uint32_t reserved;
	struct ptrc_attributes attributes;
	/* Overrun and flush error since creation or clear, however often they were asked
	 * for. */
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;
	char name[PTRC_SESSION_NAME_MAX + 1];
	char log[PATH_MAX];
};

struct ptrc_session_reply {
	uint32_t magic;
	uint16_t version;
	/* enum ptrc_session_kind */
	uint16_t kind;
	/* Error number of what was asked for, or 0. */
	int32_t error;
	/* Whether state follows: for STAT and SHUTDOWN. */
	uint32_t has_state;
	struct ptrc_session_state state;
};

/*
 * Letters, digits and . _ - + : @ = , make up a session's name, and no - begins it; so a
 * name is the name of a file and needs no quotes.
 */
bool ptrc_session_is_name(const char *name);

/* Path of the directory, which is made if it is not there and asked for. 0, EPERM if it
 * is not safe, or another error number. */
int ptrc_session_directory(bool is_create, char path[64]);

/*
 * Asks the session; *reply gets the last reply, and for SHUTDOWN the controller has
 * ended.
 *   ENOENT        no such session
 *   ECONNREFUSED  its controller was killed; the name is free again
 *   ETIMEDOUT     no answer in time
 *   EPERM         the directory is not safe, or the other side is somebody else
 *   EPROTO        not an answer of this version
 *   ECONNRESET    the controller ended without an answer
 *   others        of socket() or connect()
 */
int ptrc_session_ask(const char *name, enum ptrc_session_verb,
		     struct ptrc_session_reply *reply);

/* Text for one of those. */
const char *ptrc_session_explain(int error);

/* Names of all sockets of sessions, sorted; returns their number. Free each and the
 * list. */
size_t ptrc_session_names(char ***names);

/*
 * main() of the commands that ask every session named as an operand for one thing. The
 * table of options is the command's.
 */
struct ptrc_cli;
int ptrc_session_main(int argc, char **argv, const struct ptrc_cli *,
		      enum ptrc_session_verb);

/* Key of the one option that they may have. */
enum { PTRC_SESSION_KEY_ALLOW_LOSS = PTRC_CLI_KEY_FIRST };

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
	char name[PTRC_SESSION_NAME_MAX + 1];
};

enum ptrc_session_stage {
	PTRC_SESSION_STAGE_PROCESS,
	PTRC_SESSION_STAGE_DIRECTORY,
	PTRC_SESSION_STAGE_NAME,
	PTRC_SESSION_STAGE_STREAM,
};

/* Makes the controller; returns when it serves or has failed. */
void ptrc_session_create(const struct ptrc_session_plan *, struct ptrc_session_outcome *);

#endif
