/* SPDX-License-Identifier: MIT */
/* The checks of ptrace-doctor, with a file for each kind of thing: machine, program, process, session and log.
 * The checks change nothing. They do not trust data of others (programs, logs, what processes publish). */
#ifndef PTRC_SRC_DOCTOR_DOCTOR_H
#define PTRC_SRC_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/output.h"
#include "src/session/filter_rules.h"
#include "src/query/losses.h"
#include "src/session/session_client.h"

/* ---- doctor_report.c ---- */

enum ptrc_doctor_status {
	PTRC_DOCTOR_OK,
	/* A fact that the user should know, and may even want. */
	PTRC_DOCTOR_NOTE,
	/* A fact that keeps events from being recorded, or because of which events were lost. */
	PTRC_DOCTOR_PROBLEM,
};

/* Why a process cannot be traced: "process: reason; advice". */
struct ptrc_doctor_obstacle {
	char text[2400];
};

struct ptrc_doctor {
	/* If not NULL, ptrc_doctor_say() stores the first problem here, and prints nothing. */
	struct ptrc_doctor_obstacle *obstacle;
	/* The user asks whether a process can be traced. So a program without the library is a problem, and a
	 * process that no stream traces is not. */
	bool is_about_tracing;
	bool is_json;
	bool is_brief;
	/* --event: the name of the event that the user misses, or a pattern for several; NULL if not given. */
	const char *event;
	struct ptrc_buffer *out;
	unsigned int problems;
};

/*
 * Prints a finding as one line. `check` is the name of the check, on which scripts rely. `thing` is the
 * examined object. `advice` says what to do and may be NULL; it is printed without escapes, so that it can be a command.
 */
void ptrc_doctor_say(struct ptrc_doctor *, enum ptrc_doctor_status, const char *check,
		     const char *thing, const char *advice, const char *format, ...)
	__attribute__((format(printf, 6, 7), nonnull(1, 3, 4, 6)));

/* For a program that does not have the library, and what to do about it. */
#define PTRC_DOCTOR_NOT_LINKED                                                                      \
	"is not linked with the library: it has no events of its own, unless it loads the library " \
	"later, as Python does; programs that it starts are traced if they have it"
#define PTRC_DOCTOR_LINK_IT "if its own events are missing, link it with -lposixtrace"

#define ptrc_doctor_ok(d, check, thing, ...) \
	ptrc_doctor_say(d, PTRC_DOCTOR_OK, check, thing, NULL, __VA_ARGS__)
#define ptrc_doctor_note(d, ...) ptrc_doctor_say(d, PTRC_DOCTOR_NOTE, __VA_ARGS__)
#define ptrc_doctor_problem(d, ...) ptrc_doctor_say(d, PTRC_DOCTOR_PROBLEM, __VA_ARGS__)

/* Whether the name is that of the event that the user misses (.event), or matches the pattern in .event. */
bool ptrc_doctor_is_missed(const struct ptrc_doctor *, const char *name);

/* Reports each kind of loss of a log or a stream. is_advised: another finding says already what to do about a full
 * stream or log. is_ring: the stream has no log and overwrites its oldest events; their loss is then a note, not a
 * problem. is_log_ring: the log overwrites its oldest events, so it takes events from the stream though it is full. */
void ptrc_doctor_losses(struct ptrc_doctor *, const char *thing, const struct ptrc_losses *,
			bool is_advised, bool is_ring, bool is_log_ring);

/* Writes the size as "12 KiB" or "3.4 GiB", for instance, to `text`. Returns `text`. */
const char *ptrc_doctor_size(uint64_t bytes, char text[32]);

/* Returns the user's sessions and their states, for which the first call asks the sessions. The list is empty if
 * the directory of the sessions cannot be read. */
const struct ptrc_session_list *ptrc_doctor_list(void);

/* Returns the name of the session that the process `controller` controls; NULL if there is none. */
const char *ptrc_doctor_session_of(pid_t controller);

/* ---- doctor_machine.c ---- */

/* Examines /dev/shm, the user's directory in it, the limits, and what the kernel offers. */
void ptrc_doctor_machine(struct ptrc_doctor *);

void ptrc_doctor_disk(struct ptrc_doctor *, const char *path);

/* ---- doctor_program.c ---- */

/* Examines the program that a shell would run for this command, without running it. */
void ptrc_doctor_command(struct ptrc_doctor *, char **argv);

/* Whether and how a program contains the library. */
enum ptrc_doctor_library {
	PTRC_DOCTOR_LIBRARY_NONE,
	PTRC_DOCTOR_LIBRARY_STATIC,
	PTRC_DOCTOR_LIBRARY_SHARED,
	/* The program needs the shared library, but the loader does not find it. */
	PTRC_DOCTOR_LIBRARY_MISSING,
	/* The file is not an ELF file of this machine, or the loader refuses it. */
	PTRC_DOCTOR_LIBRARY_ALIEN,
	/* The file cannot be read, or names a loader that is not the system's and so is not started. */
	PTRC_DOCTOR_LIBRARY_UNKNOWN,
};

/* Reports which kinds of events can be recorded of the program with this path, in addition to its own events:
 * functions, waits, probes and events of the operating system. Reports why the other kinds cannot be recorded. */
void ptrc_doctor_kinds(struct ptrc_doctor *, const char *path);

/* Returns whether and how the program of a running process contains the library: NONE, STATIC, SHARED or
 * UNKNOWN. */
enum ptrc_doctor_library ptrc_doctor_library_of(pid_t);

/* ---- doctor_process.c ---- */

/* Examines a process and the streams that trace it. If `controller` is not 0, examines only the
 * streams of this controller, whose state ptrc_doctor_session() has reported already. */
void ptrc_doctor_process(struct ptrc_doctor *, pid_t, pid_t controller);

/* Finds a reason why the caller cannot trace a process: the process has another /dev/shm, is in another pid or
 * time namespace, is privileged, or runs a program without the library. A program that is just starting counts as
 * one with the library if it is going to load the library. has_os: the stream also records events of the operating
 * system, for which no program needs the library. Returns false if no reason was found. */
bool ptrc_doctor_find_obstacle(pid_t, bool has_os, struct ptrc_doctor_obstacle *);

/* Reports the problems that a stream's status shows. `session` is the session's name for the advice; NULL if the
 * stream belongs to no session. Returns whether it has reported, with advice, that the stream or its log is
 * full. */
bool ptrc_doctor_status(struct ptrc_doctor *, const char *thing, const char *session,
			const struct posix_trace_status_info *, int full_policy, bool has_log);

/* ---- doctor_session.c ---- */

/* Examines a session, its target and its log. Returns false if the session does not exist. */
bool ptrc_doctor_session(struct ptrc_doctor *, const char *name);
void ptrc_doctor_sessions(struct ptrc_doctor *);

/* ---- doctor_log.c ---- */

void ptrc_doctor_log(struct ptrc_doctor *, const char *path);

#endif
