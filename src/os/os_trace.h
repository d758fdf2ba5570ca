/* SPDX-License-Identifier: MIT */
/*
 * Events of the operating system: what the kernel tells of the process that is traced and of all its
 * descendants, whether they have the library or not. The controller of the trace takes them, in a
 * thread of its own, and adds them to the stream.
 */
#ifndef PTRC_SRC_OS_OS_TRACE_H
#define PTRC_SRC_OS_OS_TRACE_H

#include <stdbool.h>
#include <sys/types.h>
#include <trace.h>

/* What is wanted, a bit each. */
enum {
	PTRC_OS_PROCESS = 1, /* os.fork, os.exec, os.exit */
	PTRC_OS_SCHED = 2,   /* os.switch_in, os.switch_out */
	PTRC_OS_SAMPLES = 4, /* os.sample */
	/* The events of PTRC_OS_PROCESS, if no program records an event; alone. */
	PTRC_OS_AUTO = 8,
};

/* Samples in a second of processor time. */
enum { PTRC_OS_FREQUENCY = 1000, PTRC_OS_FREQUENCY_MAX = 100000 };

struct ptrc_os_plan {
	/* Not 0. */
	unsigned int kinds;
	/* Of samples. */
	unsigned int frequency;
	bool hides_command_lines;
	/* The process was started by the caller, who knows nothing of it but its number. */
	bool is_child;
};

struct ptrc_os_trace;

/* Whether the name is one of those that are kept for events of the operating system and of ptrace-run. */
bool ptrc_os_has_type(const char *name);

/* A sentence for people: why there are no such events, or fewer, and what would allow them. */
struct ptrc_os_refusal {
	char text[300];
};

/* Opens what the kernel has for the process and its descendants. Null: it refuses. If it has less than
 * planned, the text says so, and else is empty. */
struct ptrc_os_trace *ptrc_os_open(const struct ptrc_os_plan *, pid_t, struct ptrc_os_refusal *);
/* Whether the kernel would refuse this for a process of the caller's. */
bool ptrc_os_is_allowed(struct ptrc_os_refusal *);

/* Begins to add events to the stream. Returns an error number of ptrc_observer_type(), or that no
 * thread can be started; nothing then comes. */
int ptrc_os_begin(struct ptrc_os_trace *, trace_id_t);
/* Adds what there is up to now, for who is about to stop, flush or clear the stream or to change its
 * filter. If the stream has just been started, forgets what there was before. */
void ptrc_os_catch_up(struct ptrc_os_trace *);
void ptrc_os_forget(struct ptrc_os_trace *);
/* The last events; nothing comes behind them. */
void ptrc_os_end(struct ptrc_os_trace *);
/* Frees it; null is allowed. The stream is there, or ptrc_os_end() was called before. */
void ptrc_os_close(struct ptrc_os_trace *);

#endif
