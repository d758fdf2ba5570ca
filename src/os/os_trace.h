/* SPDX-License-Identifier: MIT */
/*
 * Events of the operating system: what the kernel reports about the traced process and all its descendants,
 * whether or not they use the library. A thread of the trace's controller reads the reports and adds events
 * to the stream.
 */
#ifndef PTRC_SRC_OS_OS_TRACE_H
#define PTRC_SRC_OS_OS_TRACE_H

#include <stdbool.h>
#include <sys/types.h>
#include <trace.h>

#include "src/base/message.h"

/* Kinds of events, as bits. */
enum {
	PTRC_OS_PROCESS = 1,   /* os.fork, os.exec, os.exit */
	PTRC_OS_SCHED = 2,     /* os.switch_in, os.switch_out */
	PTRC_OS_SAMPLES = 4,   /* os.sample */
	PTRC_OS_SYSCALLS = 16, /* os.syscall.begin, os.syscall.end */
	PTRC_OS_FAULTS = 32,   /* os.fault */
	/* PTRC_OS_PROCESS if no program records an event; never combined with other bits. */
	PTRC_OS_AUTO = 8,
};

/* The default and the maximum of the frequency of PTRC_OS_SAMPLES, in samples per second of processor time. */
enum { PTRC_OS_FREQUENCY = 1000, PTRC_OS_FREQUENCY_MAX = 100000 };

/* How the callers in the stack of a sample are found. */
enum ptrc_os_stacks {
	/* Like DWARF if libdw can be loaded, else like FP. */
	PTRC_OS_STACKS_AUTO,
	/* By the unwinding tables (DWARF) that each program has, from a copy of its stack. */
	PTRC_OS_STACKS_DWARF,
	/* By the kernel, which follows frame pointers. */
	PTRC_OS_STACKS_FP,
};

struct ptrc_os_plan {
	/* PTRC_OS_* bits, at least one. */
	unsigned int kinds;
	/* For PTRC_OS_SAMPLES: samples per second of processor time, from 1 to PTRC_OS_FREQUENCY_MAX. */
	unsigned int frequency;
	enum ptrc_os_stacks stacks;
	bool hides_command_lines;
	/* The caller has just started the process, so /proc does not show its program yet. */
	bool is_child;
};

struct ptrc_os_trace;

/* Whether PTRC_OS_STACKS_DWARF is possible. If not, stores the reason. */
bool ptrc_os_has_dwarf(struct ptrc_cli_reason *);

/* Opens perf events for the process and its descendants. If the kernel refuses, returns NULL, and the reason says why,
 * and what setting would allow them. Otherwise it says what will be missing, and why; if nothing will be, it is empty. */
struct ptrc_os_trace *ptrc_os_open(const struct ptrc_os_plan *, pid_t, struct ptrc_cli_reason *);
/* Returns the kinds of events, as --os has them, that the kernel would allow for a process of the caller. NULL: none, and
 * the reason says why. */
const char *ptrc_os_allowed(struct ptrc_cli_reason *);

/* Starts a thread, which opens the event types; for PTRC_OS_AUTO, it opens them later. From ptrc_os_resume() on, the
 * thread adds events. Returns 0 or an error number. After an error, no events are added. */
int ptrc_os_begin(struct ptrc_os_trace *, trace_id_t);
/* Adds all events up to now to the stream. Called before the stream is stopped or flushed, or its filter
 * changes. */
void ptrc_os_catch_up(struct ptrc_os_trace *);
/* Drops all events up to now, and all later ones until ptrc_os_resume(). Called before the stream is started or
 * cleared, so that no event from before that moment is added after it. */
void ptrc_os_suspend(struct ptrc_os_trace *);
/* From now on, the thread adds the events that occur. Called after ptrc_os_begin() and ptrc_os_suspend(). */
void ptrc_os_resume(struct ptrc_os_trace *);
/* Adds the last events. Later ones are dropped, but ptrc_os_running() knows of them. */
void ptrc_os_end(struct ptrc_os_trace *);
/* Returns the process IDs of the target and its descendants that have not ended now, as far as the kernel's records
 * show, in an array that the caller frees. For PTRC_OS_AUTO, the array is empty until a ring is filling or the trace
 * ends, because no records are read before. */
pid_t *ptrc_os_running(struct ptrc_os_trace *, size_t *count);
/* Frees the trace, which may be NULL. Until this call, a thread uses the stream, so it has to come before the stream
 * ends. */
void ptrc_os_close(struct ptrc_os_trace *);

#endif
