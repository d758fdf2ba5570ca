/* SPDX-License-Identifier: MIT */
/*
 * The checks of ptrace-doctor, a file for each kind of thing, lowest first. They change nothing. Data of others
 * (programs, logs, what processes publish) are untrusted.
 */
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
	/* The user should know this, and may even want it so. */
	PTRC_DOCTOR_NOTE,
	/* This keeps events from being recorded, or has lost some. */
	PTRC_DOCTOR_PROBLEM,
};

/* Why a process cannot be traced: "process: reason; advice". */
struct ptrc_doctor_obstacle {
	char text[2400];
};

struct ptrc_doctor {
	/* If not NULL, receives the first problem, and nothing is printed. */
	struct ptrc_doctor_obstacle *obstacle;
	/* The question is whether a process can be traced: a program without the library is a problem then, and a
	 * process without a stream is none. */
	bool is_about_tracing;
	bool is_json;
	bool is_brief;
	/* The name of the missing event, or a pattern for several; NULL if not given. */
	const char *event;
	struct ptrc_buffer *out;
	unsigned int problems;
};

/*
 * Prints a finding as one line. Scripts rely on the name of the check. `thing` is the examined object; the advice
 * says what to do and may be NULL.
 */
void ptrc_doctor_say(struct ptrc_doctor *, enum ptrc_doctor_status, const char *check,
		     const char *thing, const char *advice, const char *format, ...)
	__attribute__((format(printf, 6, 7), nonnull(1, 3, 4, 6)));

#define ptrc_doctor_ok(d, check, thing, ...) \
	ptrc_doctor_say(d, PTRC_DOCTOR_OK, check, thing, NULL, __VA_ARGS__)
#define ptrc_doctor_note(d, ...) ptrc_doctor_say(d, PTRC_DOCTOR_NOTE, __VA_ARGS__)
#define ptrc_doctor_problem(d, ...) ptrc_doctor_say(d, PTRC_DOCTOR_PROBLEM, __VA_ARGS__)

/* Whether the name is that of the missing event, or matches its pattern. */
bool ptrc_doctor_is_missed(const struct ptrc_doctor *, const char *name);

/* Reports each kind of loss of a log or a stream. is_ring: the stream has no log and its policy is to overwrite its
 * oldest events, which is no problem. */
void ptrc_doctor_losses(struct ptrc_doctor *, const char *thing, const struct ptrc_losses *,
			bool is_log_full, bool is_ring);

/* Writes a size such as "12 KiB" or "3.4 GiB", and returns the text. */
const char *ptrc_doctor_size(uint64_t bytes, char text[32]);

/* The user's sessions, asked at the first call. Empty if the directory cannot be listed. */
const struct ptrc_session_list *ptrc_doctor_list(void);

/* The name of the session with this controller, or NULL. */
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
	/* It needs the shared library, which the loader does not find. */
	PTRC_DOCTOR_LIBRARY_MISSING,
	/* It is not an ELF file of this machine, or the loader refuses it. */
	PTRC_DOCTOR_LIBRARY_ALIEN,
	/* It cannot be read, or names a loader that is not started because it is not the system's. */
	PTRC_DOCTOR_LIBRARY_UNKNOWN,
};

/* The same for a running process: NONE, STATIC, SHARED or UNKNOWN. */
enum ptrc_doctor_library ptrc_doctor_library_of(pid_t);

/* ---- doctor_process.c ---- */

/* Examines a process and the streams that trace it: all if the controller is 0, otherwise only those of this
 * controller, whose state has been reported already. */
void ptrc_doctor_process(struct ptrc_doctor *, pid_t, pid_t controller);

/* Finds a reason why the calling process cannot trace this one: it has another /dev/shm, is in another pid or time
 * namespace, is privileged, or runs a program without the library. A program that is just starting counts as one
 * with the library if it will load it. has_os: the stream also records events of the operating
 * system, for which no program needs the library. Returns false if there is no reason or none can be found. */
bool ptrc_doctor_find_obstacle(pid_t, bool has_os, struct ptrc_doctor_obstacle *);

/* Reports problems of a stream by its status. The advice names commands for the session, which is NULL for a
 * stream of another controller. */
void ptrc_doctor_status(struct ptrc_doctor *, const char *thing, const char *session,
			const struct posix_trace_status_info *, int full_policy, bool has_log);

/* ---- doctor_session.c ---- */

/* Examines a session, its target and its log. Returns false if the session does not exist. */
bool ptrc_doctor_session(struct ptrc_doctor *, const char *name);
void ptrc_doctor_sessions(struct ptrc_doctor *);

/* ---- doctor_log.c ---- */

void ptrc_doctor_log(struct ptrc_doctor *, const char *path);

#endif
