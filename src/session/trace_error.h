/* SPDX-License-Identifier: MIT */
/* Messages that explain why a trace could not be made. */
#ifndef PTRC_SRC_SESSION_TRACE_ERROR_H
#define PTRC_SRC_SESSION_TRACE_ERROR_H

#include <stdint.h>
#include <sys/types.h>

/* The free bytes in /dev/shm that a trace of some processes needs: with a stream of the commands' default size, which
 * is 8 MiB, with one of 1 MiB, and with one of 64 KiB. */
#define PTRC_TRACE_ROOM_USUAL (UINT64_C(9160) << 10)
#define PTRC_TRACE_ROOM_SMALLER (UINT64_C(1440) << 10)
#define PTRC_TRACE_ROOM_LEAST (UINT64_C(256) << 10)
/* A smaller /dev/shm has less than PTRC_TRACE_ROOM_LEAST because of its size, and not because it is full. */
#define PTRC_TRACE_SHM_LEAST (2 * PTRC_TRACE_ROOM_LEAST)
/* The option for a smaller stream if /dev/shm has this many free bytes. */
#define PTRC_TRACE_SMALLER(room) \
	((room) < PTRC_TRACE_ROOM_SMALLER ? "--stream-min-size=64K" : "--stream-min-size=1M")
/* The number of files and directories in /dev/shm that the first trace of a user needs. */
#define PTRC_TRACE_INODES_LEAST 9
/* The bytes of address space that a stream needs, which is also the size of its sparse file. If a limit on file size is
 * lower, the file is made smaller, as long as a stream of this size fits. */
#define PTRC_TRACE_SPACE (UINT64_C(320) << 20)
/* The least limit on file size (RLIMIT_FSIZE) with which a stream of 64 KiB and its names object can be made. */
#define PTRC_TRACE_FILE_LEAST (UINT64_C(4) << 20)
/* The least limit on open files (RLIMIT_NOFILE) that a trace needs. */
#define PTRC_TRACE_FILES_LEAST 32

/*
 * Prints why a stage of making a session failed with this error number. The stage (enum ptrc_session_stage)
 * is PTRC_SESSION_STAGE_FILTER, _SNAPSHOTS or _STREAM. For _STREAM, the error number is that of
 * posix_trace_create() or, if log_path is not NULL, of posix_trace_create_withlog(). `target` is the name by
 * which the user knows the process `pid`.
 */
void ptrc_trace_error(int stage, int error, pid_t pid, const char *target, const char *log_path);

/* The advice for a fault that ptrc_trace_proc_fault() returns. */
#define PTRC_TRACE_PROC_ADVICE "mount the proc of this pid namespace: mount -t proc proc /proc"
/* Returns what is wrong with /proc, so that no process can be traced; NULL if nothing is. */
const char *ptrc_trace_proc_fault(void);

/* The fault, and the advice, if struct ptrc_inspected_system has EPERM in .pt_bells_error. */
#define PTRC_TRACE_BELLS_FAULT \
	"is not what the library has made, or not only yours: nothing of yours can be traced"
#define PTRC_TRACE_BELLS_ADVICE "remove it, and start anew what is to be traced"

/* Prints why a process could not be started: "cannot start <what>: ...". */
void ptrc_trace_no_process(const char *what, int error);

#endif
