/* SPDX-License-Identifier: MIT */
/*
 * What ptrace-doctor looks at, a file each, and how it tells. Nothing is changed by
 * looking; what is read of others, of /proc, programs, logs, pages, is not believed.
 */
#ifndef PTRC_SRC_DOCTOR_DOCTOR_H
#define PTRC_SRC_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <posixtrace.h>

#include "src/session/session.h"

enum ptrc_doctor_status {
	PTRC_DOCTOR_OK,
	/* Worth knowing; may be what is wanted. */
	PTRC_DOCTOR_NOTE,
	/* Keeps events from being recorded, or has lost some. */
	PTRC_DOCTOR_PROBLEM,
};

struct ptrc_doctor {
	bool is_json;
	/* What is ok is left out. */
	bool is_brief;
	/* The event that is missed, or null. */
	const char *event;
	struct ptrc_buffer *out;
	unsigned int problems;
};

/*
 * One finding, one line. The check's name is interface; the thing is what was looked at;
 * advice says what to do, or is null.
 */
void ptrc_doctor_say(struct ptrc_doctor *, enum ptrc_doctor_status, const char *check,
		     const char *thing, const char *advice, const char *format, ...)
	__attribute__((format(printf, 6, 7), nonnull(1, 3, 4, 6)));

/* "12 KiB", "3.4 GiB". */
const char *ptrc_doctor_size(uint64_t bytes, char text[32]);

/* /dev/shm, the user's directory in it, limits, what the kernel has. */
void ptrc_doctor_machine(struct ptrc_doctor *);

/* Whether there is room where the path is, or is to be. */
void ptrc_doctor_disk(struct ptrc_doctor *, const char *path);

/* With a controller: of its streams alone, whose state has been told. 0: of all. */
void ptrc_doctor_process(struct ptrc_doctor *, pid_t, pid_t controller);

/* What is wrong with a stream, by its state as seen from outside. The remedies are
 * commands for a session; session is null for a stream of another controller. */
void ptrc_doctor_status(struct ptrc_doctor *, const char *thing, const char *session,
			const struct posix_trace_status_info *, int full_policy,
			bool has_log);

/* argv of the command, as a shell would find it. */
void ptrc_doctor_command(struct ptrc_doctor *, char **argv);

/* Whether the program in the file has the library in it, and how. */
enum ptrc_doctor_library {
	PTRC_DOCTOR_LIBRARY_NONE,
	PTRC_DOCTOR_LIBRARY_STATIC,
	PTRC_DOCTOR_LIBRARY_SHARED,
	/* It needs the shared library, which cannot be found. */
	PTRC_DOCTOR_LIBRARY_MISSING,
	/* Not a program that could have it: of another machine, or no ELF file. */
	PTRC_DOCTOR_LIBRARY_ALIEN,
	/* It could not be looked at. */
	PTRC_DOCTOR_LIBRARY_UNKNOWN,
};
enum ptrc_doctor_library ptrc_doctor_library(const char *path);

/* False if there is no such session. */
bool ptrc_doctor_session(struct ptrc_doctor *, const char *name);
void ptrc_doctor_sessions(struct ptrc_doctor *);
/* The name of the session with that controller; false if it is none. */
bool ptrc_doctor_session_of(pid_t controller, char name[PTRC_SESSION_NAME_MAX + 1]);

void ptrc_doctor_log(struct ptrc_doctor *, const char *path);

#endif
