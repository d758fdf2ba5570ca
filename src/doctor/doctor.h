/* SPDX-License-Identifier: MIT */
/*
 * What ptrace-doctor looks at, a file for each kind of thing, lowest first. Looking changes
 * nothing. Whatever was written by others (programs, logs, what processes publish) is
 * checked before it is used.
 */
#ifndef PTRC_SRC_DOCTOR_DOCTOR_H
#define PTRC_SRC_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/base/output.h"
#include "src/session/session_client.h"

/* ---- doctor_report.c ---- */

enum ptrc_doctor_status {
	PTRC_DOCTOR_OK,
	/* The user should know this, and may even want it so. */
	PTRC_DOCTOR_NOTE,
	/* This keeps events from being recorded, or has lost some. */
	PTRC_DOCTOR_PROBLEM,
};

/* What keeps a process from being traced, as a line of text: the process, why, what to do. */
struct ptrc_doctor_obstacle {
	char text[2400];
};

struct ptrc_doctor {
	/* If it is not null, nothing is printed; the first problem goes here. */
	struct ptrc_doctor_obstacle *obstacle;
	/* The question is whether a process can be traced: a program without the library is a problem then, and that no
	 * stream traces it is none. */
	bool is_about_tracing;
	bool is_json;
	/* Findings with the status OK are left out. */
	bool is_brief;
	/* The name of the event that the user misses, or a pattern for several; null if the user
	 * gives none. */
	const char *event;
	struct ptrc_buffer *out;
	/* How many problems have been found. */
	unsigned int problems;
};

/*
 * Prints one finding as one line. The name of the check is interface. The thing is what was
 * looked at; the advice says what to do, or is null.
 */
void ptrc_doctor_say(struct ptrc_doctor *, enum ptrc_doctor_status, const char *check,
		     const char *thing, const char *advice, const char *format, ...)
	__attribute__((format(printf, 6, 7), nonnull(1, 3, 4, 6)));

#define ptrc_doctor_ok(d, check, thing, ...) \
	ptrc_doctor_say(d, PTRC_DOCTOR_OK, check, thing, NULL, __VA_ARGS__)
#define ptrc_doctor_note(d, ...) ptrc_doctor_say(d, PTRC_DOCTOR_NOTE, __VA_ARGS__)
#define ptrc_doctor_problem(d, ...) ptrc_doctor_say(d, PTRC_DOCTOR_PROBLEM, __VA_ARGS__)

/* Whether an event of this name is one that the user misses. */
bool ptrc_doctor_is_missed(const struct ptrc_doctor *, const char *name);

/* Whether the user gives a pattern, so that the event that is missed may be several. */
bool ptrc_doctor_has_pattern(const struct ptrc_doctor *);

/* The advice for events that were lost in the stream, in the log, or both. */
const char *ptrc_doctor_room(unsigned long in_stream, unsigned long in_log, bool is_log_full);

/* Writes a size as users read it, "12 KiB" or "3.4 GiB", and returns the text. */
const char *ptrc_doctor_size(uint64_t bytes, char text[32]);

/* The sessions of the user. They are asked when the list is needed first, all at the same time,
 * because some may not answer. A directory that cannot be listed makes an empty list. */
const struct ptrc_session_list *ptrc_doctor_list(void);

/* Returns the name of the session that has this process as its controller, or null. */
const char *ptrc_doctor_session_of(pid_t controller);

/* ---- doctor_machine.c ---- */

/* Examines /dev/shm, the user's directory in it, the limits, and what the kernel offers. */
void ptrc_doctor_machine(struct ptrc_doctor *);

/* Reports how much room the file system of the file has. */
void ptrc_doctor_disk(struct ptrc_doctor *, const char *path);

/* ---- doctor_program.c ---- */

/* Examines the program that a shell would find for this command, and does not run it. */
void ptrc_doctor_command(struct ptrc_doctor *, char **argv);

/* How a program has the library in it. */
enum ptrc_doctor_library {
	PTRC_DOCTOR_LIBRARY_NONE,
	PTRC_DOCTOR_LIBRARY_STATIC,
	PTRC_DOCTOR_LIBRARY_SHARED,
	/* It needs the shared library, and the loader does not find that. */
	PTRC_DOCTOR_LIBRARY_MISSING,
	/* It is not an ELF file of this machine, or the loader refuses it. */
	PTRC_DOCTOR_LIBRARY_ALIEN,
	/* This user may not read it, or its loader is not one that we start. */
	PTRC_DOCTOR_LIBRARY_UNKNOWN,
};

/* Returns how a running process has the library in it: NONE, STATIC, SHARED or UNKNOWN. */
enum ptrc_doctor_library ptrc_doctor_library_of(pid_t);

/* ---- doctor_process.c ---- */

/* Examines a process and the streams that trace it: all of them if the controller is 0,
 * otherwise only those of that controller, whose state has been reported already. */
void ptrc_doctor_process(struct ptrc_doctor *, pid_t, pid_t controller);

/* Finds out whether a stream of this process can trace another one: not if that has another
 * /dev/shm, is in another pid or time namespace, is privileged, or runs a program without the
 * library. A program that is only just starting counts as one that has the library if it will
 * have it. Returns false if there is no obstacle, or nobody can tell. */
bool ptrc_doctor_find_obstacle(pid_t, struct ptrc_doctor_obstacle *);

/* Says what is wrong with a stream, from its state as seen from outside. The remedies are
 * commands for a session; session is null for a stream of another controller. */
void ptrc_doctor_status(struct ptrc_doctor *, const char *thing, const char *session,
			const struct posix_trace_status_info *, int full_policy, bool has_log);

/* ---- doctor_session.c ---- */

/* Examines a session, its target and its log. Returns false if there is no such session. */
bool ptrc_doctor_session(struct ptrc_doctor *, const char *name);
void ptrc_doctor_sessions(struct ptrc_doctor *);

/* ---- doctor_log.c ---- */

void ptrc_doctor_log(struct ptrc_doctor *, const char *path);

#endif
