/* SPDX-License-Identifier: MIT */
/* The client side of a session: the questions that commands ask the session's controller. */
#ifndef PTRC_SRC_SESSION_SESSION_CLIENT_H
#define PTRC_SRC_SESSION_SESSION_CLIENT_H

#include <posixtrace-control.h>

#include "src/session/session_protocol.h"

struct ptrc_session_types;

struct ptrc_session_question {
	enum ptrc_session_verb verb;
	uint32_t flags;
	uint32_t from;
	const char *const *texts;
	size_t text_count;
	/* If not NULL, the event types of the session are stored here just before the question is asked. The list
	 * is empty if the session does not send them, for example because another client is ending the session. */
	struct ptrc_session_types *types;
};

/*
 * Sends the question to the session and waits for the reply of kind DONE, which becomes *reply. After SHUTDOWN, also
 * waits until the controller has ended. Returns 0 (reply->error may still be an error of the request), or
 *   ENOENT        there is no such session
 *   ECONNREFUSED  its controller was killed; the name is free again
 *   ETIMEDOUT     the session did not answer in time, or its controller or keeper is stopped
 *   EPERM         the directory of the sockets is not safe, or the controller belongs to another user
 *   EPROTO        the answer is invalid or of another protocol version
 *   ECONNRESET    the controller ended, or is ending the session, without an answer
 *   E2BIG         the texts of the question have more than PTRC_SESSION_TEXTS_MAX bytes
 *   others        from socket() or connect()
 */
int ptrc_session_ask(const char *name, enum ptrc_session_verb, struct ptrc_session_reply *reply);
int ptrc_session_ask_about(const char *name, const struct ptrc_session_question *,
			   struct ptrc_session_reply *reply);

/* Asks for the state of the session. Stores a pointer to the state, which is valid until the next call of this
 * function. Returns 0, an error number of ptrc_session_ask(), or the error number in the reply. */
int ptrc_session_stat(const char *name, const struct ptrc_session_state **);

/* Returns a text for an error number of ptrc_session_ask(). For ETIMEDOUT and ECONNRESET, the text says why the last
 * question was not answered, if that is known. */
const char *ptrc_session_explain(int error);
/* Notes the version of a log that a session sends and that this command cannot read. The next
 * ptrc_session_explain(EPROTO) reports it. */
void ptrc_session_note_log(unsigned int version);

/* Returns a text for an error number of ptrc_session_stat_all(). If the session's controller is stopped (SIGSTOP),
 * the text has its process ID. */
const char *ptrc_session_explain_of(const char *name, int error);

/* Returns 0 if a controller listens under the name, or an error number of ptrc_session_ask(). Unlike
 * ptrc_session_ask(), does not remove the socket of a killed controller. */
int ptrc_session_knock(const char *name);

/*
 * Sends STAT to many sessions at the same time, so that several sessions that do not answer cost no more time
 * than one. A session's reply is valid if its error is 0. If is_removing, removes sockets of killed
 * controllers.
 */
void ptrc_session_stat_all(char *const *names, size_t count, bool is_removing,
			   struct ptrc_session_reply *replies, int *errors);

/* The sessions of this user, sorted by name, and their replies to STAT. */
struct ptrc_session_list {
	size_t count;
	char **names;
	/* The error for each session, from ptrc_session_stat_all(); its reply is valid if the error is 0. */
	int *errors;
	struct ptrc_session_reply *replies;
};

/* Fills in the list. It is never freed, because a command needs one list until it ends. Returns 0, or an
 * error number of ptrc_session_names() and an empty list. */
int ptrc_session_list(struct ptrc_session_list *, bool is_removing);

/* Whether the process IDs in the state belong to another pid namespace than that of the caller. */
bool ptrc_session_is_foreign(const struct ptrc_session_state *);

/* Whether the session counts its events and keeps none: its log is /dev/null. */
bool ptrc_session_keeps_nothing(const struct ptrc_session_state *);

/* Replaces the counts of events and bytes in a rotated log by those of the files that exist, and adds what is known of the
 * other files. The session also counts what was in files that were deleted since. Does nothing if the log is gone or
 * cannot be read here. */
void ptrc_session_count_log(const struct ptrc_session_state *, struct ptrc_counts *);

/* Returns the number of events that were recorded since the trace was created or cleared. It includes events
 * that were overwritten in a stream with the policy loop. */
uint64_t ptrc_session_recorded(const struct ptrc_session_state *);

/*
 * Sends FOLLOW or DUMP and keeps the connection in *fd. Stores a pidfd of the controller, or -1, in
 * *controller_fd. recv() on *fd fails with EAGAIN if no data comes for PTRC_SESSION_LOOK_UP_MS. Returns 0 or
 * an error number of ptrc_session_ask(); after an error there is nothing to close.
 */
int ptrc_session_follow(const char *name, enum ptrc_session_verb, struct ptrc_session_reply *reply,
			int *fd, int *controller_fd);

struct ptrc_session_type {
	trace_event_id_t id;
	bool is_filtered;
	uint64_t events;
	uint64_t bytes;
	uint64_t truncated;
	char *name;
	char *layout; /* NULL if the type has no layout */
};

struct ptrc_session_types {
	/* The event types, sorted by .id. */
	struct ptrc_session_type *types;
	size_t count;
	struct posixtrace_pattern *patterns;
	size_t pattern_count;
	struct ptrc_idle_snapshot *idle_snapshots;
	size_t idle_snapshot_count;
};

/* Asks for all pages of the event types. Returns 0 or an error number of ptrc_session_ask(); after an error
 * there is nothing to free. */
int ptrc_session_types_get(const char *name, struct ptrc_session_types *);
void ptrc_session_types_free(struct ptrc_session_types *);

#endif
