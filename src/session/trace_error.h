/* SPDX-License-Identifier: MIT */
/* Messages that explain why a trace could not be made. */
#ifndef PTRC_SRC_SESSION_TRACE_ERROR_H
#define PTRC_SRC_SESSION_TRACE_ERROR_H

#include <stdint.h>
#include <sys/types.h>

/* The least bytes in /dev/shm that a stream needs. */
#define PTRC_TRACE_ROOM_LEAST (UINT64_C(1) << 20)
/* The address space and file size of a stream, which is a sparse file. */
#define PTRC_TRACE_SPACE (UINT64_C(320) << 20)
#define PTRC_TRACE_FILES_LEAST 32

/*
 * Prints why the stage of making a session (enum ptrc_session_stage) failed with this error number:
 * PTRC_SESSION_STAGE_FILTER, _SNAPSHOTS or _STREAM. For the latter it is that of posix_trace_create(), or of
 * posix_trace_create_withlog() if the path of a log is given. The target is what the user
 * calls the process `pid`.
 */
void ptrc_trace_error(int stage, int error, pid_t pid, const char *target, const char *log_path);

/* The kind of namespace, "pid" or "time", that this process's children are in but the process itself is not; or
 * NULL. */
const char *ptrc_trace_foreign_children(void);

/* Prints why a process could not be started: "cannot start <what>: ...". */
void ptrc_trace_no_process(const char *what, int error);

#endif
