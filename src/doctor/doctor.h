/* SPDX-License-Identifier: MIT */
/*
 * What ptrace-doctor looks at, a file for each kind of thing, lowest first. Looking changes
 * nothing. Whatever was written by others (programs, logs, what processes publish) is
 * checked before it is used.
 */
#ifndef PTRC_SRC_DOCTOR_DOCTOR_H
#define PTRC_SRC_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <sys/types.h>

#include <posixtrace.h>

#include "src/doctor/doctor_report.h"

/* ---- doctor_machine.c ---- */

/* /dev/shm, the user's directory in it, the limits, what the kernel offers. */
void ptrc_doctor_machine(struct ptrc_doctor *);

/* Whether the file system has room where the path is, or is to be. */
void ptrc_doctor_disk(struct ptrc_doctor *, const char *path);

/* ---- doctor_program.c ---- */

/* The program that a shell would find for this command. It is not run. */
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

/* The same of a process that runs: NONE, STATIC, SHARED or UNKNOWN. */
enum ptrc_doctor_library ptrc_doctor_library_of(pid_t);

/* ---- doctor_process.c ---- */

/* A process and the streams that trace it: all of them if the controller is 0, otherwise
 * only those of that controller, whose state has been told already. */
void ptrc_doctor_process(struct ptrc_doctor *, pid_t, pid_t controller);

/* Says what is wrong with a stream, from its state as seen from outside. The remedies are
 * commands for a session; session is null for a stream of another controller. */
void ptrc_doctor_status(struct ptrc_doctor *, const char *thing, const char *session,
			const struct posix_trace_status_info *, int full_policy, bool has_log);

/* ---- doctor_session.c ---- */

/* Returns false if there is no such session. */
bool ptrc_doctor_session(struct ptrc_doctor *, const char *name);
void ptrc_doctor_sessions(struct ptrc_doctor *);

/* ---- doctor_log.c ---- */

void ptrc_doctor_log(struct ptrc_doctor *, const char *path);

#endif
