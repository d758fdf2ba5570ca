/* SPDX-License-Identifier: MIT */
/*
 * Serves the clients of a session, in the process that controls its trace. That is a process in
 * the background (session_create.h), or ptrace-run. It has a main loop of its own, in which it
 * calls these functions, all from one thread:
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

/* What a session is made from. */
struct ptrc_session_plan {
	pid_t target;
	/* pidfd of the target, or -1 if the caller itself sees the target end. */
	int target_fd;
	const trace_attr_t *attr;
	/* The name that the user wants; null: a name is made from the stem. */
	const char *name;
	const char *name_stem;
	/* Descriptor and absolute path of the log, or -1 and null. */
	int log_fd;
	const char *log_path;
	/* Which names of events the stream records, from the start. */
	const struct posixtrace_pattern *patterns;
	size_t pattern_count;
	bool is_until_exit;
	bool is_started;
	/* The log is closed without waiting for the disk. */
	bool is_unsynced;
	/* Its log gets no command lines of processes. */
	bool hides_command_lines;
	struct ptrc_snapshots_plan snapshots;
	/* .kinds 0: no events of the operating system. */
	struct ptrc_os_plan os;
	/* The session is a run, which ptrace-run controls. */
	bool is_run;
	/* Unless they are null: .snapshot is called when a snapshot was made, or was to be made and was
	 * not; .stopping is called before the trace is stopped for its end; .stopped is called when the trace has been stopped for its end, and
	 * its stream is still there; .ended when the stream is gone, with the error number of its
	 * end and the last counts, before the clients get to know. */
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

/* Places for ptrc_server_poll(). */
#define PTRC_SERVER_POLL_MAX 83

struct ptrc_server;

/* Makes a server that has no socket and no stream yet; the process has it until it ends. The plan
 * has to stay, too. */
struct ptrc_server *ptrc_server_new(const struct ptrc_session_plan *);

/* Makes the socket and gives it the name of the session. Returns 0, EEXIST if a session has the
 * name, or another error number, and then what failed in *stage; the server may be used all the
 * same, and has no clients. */
int ptrc_server_listen(struct ptrc_server *, int32_t *stage);

/* The name of the session, "" if it has none. */
const char *ptrc_server_name(const struct ptrc_server *);

/* Creates the stream, sets its patterns and starts it, as the plan says. May be called in another
 * thread. Returns 0, or an error number, and then what failed in *stage; no stream is left. */
int ptrc_server_make_stream(struct ptrc_server *, int32_t *stage);
trace_id_t ptrc_server_trace(const struct ptrc_server *);
/* What makes snapshots, or null. */
struct ptrc_snapshots *ptrc_server_snapshots(const struct ptrc_server *);

/* Why the trace gets no events of the operating system, or fewer than it was to get; else "". */
const char *ptrc_server_os_refusal(const struct ptrc_server *);

/* Begins to serve. */
void ptrc_server_begin(struct ptrc_server *);

/* Fills in the descriptors to wait for, and for how many milliseconds at most, or -1. Returns their
 * number. */
size_t ptrc_server_poll(struct ptrc_server *, struct pollfd *, int *limit_ms);
/* Does what is to be done after the wait. No other function of the server may be called since
 * ptrc_server_poll(). */
void ptrc_server_step(struct ptrc_server *, const struct pollfd *);

/* Ends the session as soon as nothing is done in the background for it. */
void ptrc_server_end(struct ptrc_server *);
/* The session has ended: the stream is gone, the log is closed and the name is free. */
bool ptrc_server_has_ended(const struct ptrc_server *);
/* Tells the clients of a session that has ended that it has, and lets them go. */
void ptrc_server_close(struct ptrc_server *);

/* Makes the name free, at an end that is not orderly. */
void ptrc_server_remove_socket(struct ptrc_server *);

#endif
