/* SPDX-License-Identifier: MIT */
/*
 * Serves the clients of a session, in the process that controls its trace: a background process (session_create.h)
 * or ptrace-run. The caller has the main loop, and calls these functions from one thread, in this order:
 *
 *	ptrc_server_new, ptrc_server_listen, ptrc_server_make_stream, ptrc_server_begin,
 *	ptrc_server_poll and ptrc_server_step again and again, until ptrc_server_has_ended,
 *	ptrc_server_close
 */
#ifndef PTRC_SRC_SESSION_SESSION_SERVER_H
#define PTRC_SRC_SESSION_SESSION_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <posixtrace-control.h>

#include "src/os/os_trace.h"
#include "src/session/logfile.h"
#include "src/session/session_protocol.h"
#include "src/session/snapshots.h"

struct ptrc_session_plan {
	pid_t target;
	/* A pidfd of the target, or -1 if the caller notices the target's end by itself. */
	int target_fd;
	const trace_attr_t *attr;
	/* The name that the user wants for the session. If it is NULL, a free name is made from name_stem. */
	const char *name;
	const char *name_stem;
	/* The file and the absolute path of the log; both NULL without a log. */
	struct ptrc_logfile *log;
	const char *log_path;
	/* The patterns (--only, --exclude) of the stream. They apply from its start. */
	const struct posixtrace_pattern *patterns;
	size_t pattern_count;
	bool is_until_exit;
	bool is_started;
	bool is_unsynced;
	bool hides_command_lines;
	struct ptrc_snapshots_plan snapshots;
	/* Which events of the operating system are recorded; none if .kinds is 0. */
	struct ptrc_os_plan os;
	/* The controller is ptrace-run, not a background process of ptrace-create. */
	bool is_run;
	/* The following functions, unless NULL, are called with .arg. snapshot() is called after a snapshot was
	 * made, has failed, or was refused because the session has tried to make .snapshots.max already. */
	void (*snapshot)(void *arg, const struct ptrc_snapshot *);
	/* Called at the end of the session, before the trace is stopped. */
	void (*stopping)(void *arg, trace_id_t);
	/* Called after the trace was stopped, while the stream still exists. May add to the last state. */
	void (*stopped)(void *arg, trace_id_t, struct ptrc_session_state *);
	/* Called when the stream is gone, before the clients are answered, with the result of
	 * ptrc_trace_shutdown() (0 or an error number) and the last state. */
	void (*ended)(void *arg, int error, const struct ptrc_session_state *);
	void *arg;
};

enum ptrc_session_stage {
	PTRC_SESSION_STAGE_PROCESS,
	PTRC_SESSION_STAGE_DIRECTORY,
	PTRC_SESSION_STAGE_NAME,
	PTRC_SESSION_STAGE_STREAM,
	PTRC_SESSION_STAGE_FILTER,
	PTRC_SESSION_STAGE_SNAPSHOTS,
};

/* The most descriptors that ptrc_server_poll() fills in. */
#define PTRC_SERVER_POLL_MAX 83

struct ptrc_server;

/* Makes a server that has no socket and no stream yet. The server is never freed. The plan has to stay valid. */
struct ptrc_server *ptrc_server_new(const struct ptrc_session_plan *);

/* Makes the socket and gives it the name of the session. Returns 0, EEXIST if another session has the name,
 * or another error number. After an error, *stage is the step that failed, and the server works without
 * clients. */
int ptrc_server_listen(struct ptrc_server *, int32_t *stage);

/* Returns the name of the session; "" if it has none. */
const char *ptrc_server_name(const struct ptrc_server *);

/* Creates the stream, sets its patterns and starts it, as the plan says. May be called in another thread.
 * Returns 0 or an error number. After an error there is no stream, and *stage is the step that failed. */
int ptrc_server_make_stream(struct ptrc_server *, int32_t *stage);
trace_id_t ptrc_server_trace(const struct ptrc_server *);
/* Returns NULL if the session makes no snapshots by itself. */
struct ptrc_snapshots *ptrc_server_snapshots(const struct ptrc_server *);

/* Returns why events of the operating system are missing although wanted; "" if none are missing. */
const char *ptrc_server_os_refusal(const struct ptrc_server *);

/* Returns the process IDs of the target and its descendants that still run, as far as events of the operating
 * system show them (ptrc_os_running()), in an array that the caller frees. */
pid_t *ptrc_server_running(struct ptrc_server *, size_t *count);

/* Called once, before the main loop. If there is a log, watches the process that writes it. */
void ptrc_server_begin(struct ptrc_server *);

/* Fills in the arguments of poll(): the descriptors, and the limit in milliseconds, which is -1 for none.
 * Returns the number of descriptors. */
size_t ptrc_server_poll(struct ptrc_server *, struct pollfd *, int *limit_ms);
/* Handles the result of poll(). Between ptrc_server_poll() and this call no other function of the server may
 * be called. */
void ptrc_server_step(struct ptrc_server *, const struct pollfd *);

/* Notes that the target has ended; for a caller that notices this by itself (.target_fd is -1). Does not end the
 * session. */
void ptrc_server_target_ended(struct ptrc_server *);

/* Ends the session once the work in the background is done. */
void ptrc_server_end(struct ptrc_server *);
/* Whether the session has ended: the stream is gone, the log is closed and the name is free. */
bool ptrc_server_has_ended(const struct ptrc_server *);
/* Answers the clients of a session that has ended, and closes their connections. */
void ptrc_server_close(struct ptrc_server *);

/* Removes the socket. The caller needs this only if the process ends before ptrc_server_has_ended() returns true. */
void ptrc_server_remove_socket(struct ptrc_server *);

#endif
