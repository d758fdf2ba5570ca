/* SPDX-License-Identifier: MIT */
/*
 * Serves the clients of a session, in the process that controls its trace: a background process
 * (session_create.h) or ptrace-run. The caller has the main loop, and calls from one thread:
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

#include "include/posixtrace-private.h"
#include "src/os/os_trace.h"
#include "src/session/session_protocol.h"
#include "src/session/snapshots.h"

struct ptrc_session_plan {
	pid_t target;
	/* pidfd of the target, or -1 if the caller notices its end. */
	int target_fd;
	const trace_attr_t *attr;
	/* The name that the user wants; NULL: a free name is made from the stem. */
	const char *name;
	const char *name_stem;
	/* Descriptor and absolute path of the log, or -1 and NULL. */
	int log_fd;
	const char *log_path;
	/* The patterns of the stream from its start. */
	const struct posixtrace_pattern *patterns;
	size_t pattern_count;
	bool is_until_exit;
	bool is_started;
	bool is_unsynced;
	bool hides_command_lines;
	struct ptrc_snapshots_plan snapshots;
	/* .kinds 0: no events of the operating system. */
	struct ptrc_os_plan os;
	/* The controller is ptrace-run. */
	bool is_run;
	/* Called with .arg unless NULL: after a snapshot was made or has failed; before the trace is stopped for
	 * its end; after that, while the stream still exists; and when the stream is gone, with the error number
	 * of its end and the last counts, before the clients are answered. */
	void (*snapshot)(void *arg, const struct ptrc_snapshot *);
	void (*stopping)(void *arg, trace_id_t);
	void (*stopped)(void *arg, trace_id_t, const struct ptrc_session_state *);
	void (*ended)(void *arg, int error, const struct ptrc_counts *);
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

/* Makes a server without socket and stream. It is never freed; the plan has to stay valid. */
struct ptrc_server *ptrc_server_new(const struct ptrc_session_plan *);

/* Makes the socket and gives it the name of the session. Returns 0, EEXIST if a session has the name, or
 * another error number; *stage then is the step that failed, and the server works without clients. */
int ptrc_server_listen(struct ptrc_server *, int32_t *stage);

/* The name of the session, "" if it has none. */
const char *ptrc_server_name(const struct ptrc_server *);

/* Creates the stream, sets its patterns and starts it, as planned. May be called in another thread. Returns 0,
 * or an error number with the step that failed in *stage and without a stream. */
int ptrc_server_make_stream(struct ptrc_server *, int32_t *stage);
trace_id_t ptrc_server_trace(const struct ptrc_server *);
/* NULL if the session makes no snapshots by itself. */
struct ptrc_snapshots *ptrc_server_snapshots(const struct ptrc_server *);

/* Why events of the operating system are missing although the plan asks for them; else "". */
const char *ptrc_server_os_refusal(const struct ptrc_server *);

/* To be called once before the main loop. */
void ptrc_server_begin(struct ptrc_server *);

/* Fills in the arguments of poll(): descriptors and the limit in milliseconds, or -1. Returns the number of
 * descriptors. */
size_t ptrc_server_poll(struct ptrc_server *, struct pollfd *, int *limit_ms);
/* Handles the result of poll(). Between the two no other function of the server may be called. */
void ptrc_server_step(struct ptrc_server *, const struct pollfd *);

/* The caller has noticed the end of the target; the session goes on. */
void ptrc_server_target_ended(struct ptrc_server *);

/* Ends the session once the work in the background is done. */
void ptrc_server_end(struct ptrc_server *);
/* Whether the stream is gone, the log is closed and the name is free. */
bool ptrc_server_has_ended(const struct ptrc_server *);
/* Answers the clients of a session that has ended, and closes their connections. */
void ptrc_server_close(struct ptrc_server *);

/* Removes the socket when the session does not end in order. */
void ptrc_server_remove_socket(struct ptrc_server *);

#endif
