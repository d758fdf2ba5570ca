/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/os/os_trace.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "include/posixtrace-private.h"
#include "src/base/clock.h"
#include "src/base/scope.h"
#include "src/base/table.h"
#include "src/os/perf.h"
#include "src/os/processes.h"
#include "src/os/syscall_name.h"
#include "src/os/throttle.h"
#include "src/os/unwind.h"
#include "src/query/reader.h"

enum {
	/* The kernel's ring buffers are emptied at least this often. */
	TAKE_MS = 50,
	/* want() waits for the thread at most this long: the thread may be waiting for room in the stream. */
	CATCH_UP_S = 1,
};
/* The kernel has written a record into its ring at most this long after the record's timestamp. */
#define SETTLE_NS INT64_C(1000000)
/* The most processes whose command lines are awaited at the same time (young[]). Each command line is looked for
 * once each millisecond, at most YOUNG_TRIES times. */
#define YOUNG_MAX 64U
#define YOUNG_TRIES 20U
/* At most BATCH events are added to the stream at once, with at most STACKS_BYTES bytes of stacks. */
#define BATCH 256U
#define STACKS_BYTES (UINT64_C(64) << 10)

enum type {
	TYPE_FORK,
	TYPE_EXEC,
	TYPE_EXIT,
	TYPE_SWITCH_IN,
	TYPE_SWITCH_OUT,
	TYPE_SAMPLE,
	TYPE_SYSCALL_BEGIN,
	TYPE_SYSCALL_END,
	TYPE_FAULT,
	TYPE_LOST,
	TYPES,
};

static const struct {
	const char *name, *layout;
	unsigned int kinds;
} types[TYPES] = {
	[TYPE_FORK] = {"os.fork", "u32 pid, u32 tid", PTRC_OS_PROCESS},
	[TYPE_EXEC] = {"os.exec", "str name", PTRC_OS_PROCESS},
	[TYPE_EXIT] = {"os.exit", NULL, PTRC_OS_PROCESS},
	[TYPE_SWITCH_IN] = {"os.switch_in", "u32 processor", PTRC_OS_SCHED},
	[TYPE_SWITCH_OUT] = {"os.switch_out", "u32 processor, bool preempted", PTRC_OS_SCHED},
	[TYPE_SAMPLE] = {"os.sample", "u32 processor, bool cut, u8 noise, code[] stack",
			 PTRC_OS_SAMPLES},
	[TYPE_SYSCALL_BEGIN] = {"os.syscall.begin", "x64[6] arguments, str name", PTRC_OS_SYSCALLS},
	[TYPE_SYSCALL_END] = {"os.syscall.end", "i64 result", PTRC_OS_SYSCALLS},
	[TYPE_FAULT] = {"os.fault", "x64 memory, code place, bool major", PTRC_OS_FAULTS},
	[TYPE_LOST] = {PTRC_OS_LOST, "u64 events, u32 processor, bool withheld", ~0U},
};

/* The data of each event type except os.sample, as its layout in types[] says. */
union data {
	struct {
		uint32_t pid, tid;
	} fork;
	char name[PTRC_PERF_NAME_BYTES];
	struct {
		uint32_t processor;
		uint8_t is_preempted;
	} out;
	struct {
		uint64_t events;
		uint32_t processor;
		uint8_t is_withheld;
	} lost;
	struct {
		uint64_t arguments[PTRC_PERF_ARGUMENTS];
		char name[PTRC_SYSCALL_NAME_BYTES];
	} begin;
	int64_t result;
	struct {
		uint64_t memory, place;
		uint8_t is_major;
	} fault;
};

/* The start of the data of os.sample. The addresses of the stack follow. */
struct sample {
	uint32_t processor;
	uint8_t is_cut;
	uint8_t noise;
	uint8_t padding[2];
};

struct ptrc_os_trace {
	struct ptrc_os_plan plan;
	trace_id_t trace;
	pthread_t thread;
	bool has_thread;
	int wake_fd; /* an eventfd that wakes the thread */

	/* While the thread runs, it alone uses the members from here to `has_told_rest`. */

	/* The process is the caller's child (.plan.is_child), which has not begun to execute its program. */
	bool is_before_program;
	/* For PTRC_OS_AUTO: no records were taken from the rings yet. None are wanted if a program records an event. */
	bool is_waiting;
	struct ptrc_perf *perf;
	struct ptrc_os_processes *processes;
	struct ptrc_unwinder *unwinder; /* NULL: samples have no copies of stacks */
	struct ptrc_observer *observer;
	trace_event_id_t ids[TYPES];
	struct ptrc_observed events[BATCH];
	union data data[BATCH];
	uint8_t stacks[STACKS_BYTES];
	size_t stacks_used;
	size_t count;
	unsigned long unobserved;
	struct ptrc_os_throttle throttle;
	struct ptrc_table unborn; /* see is_birth(); the keys are thread IDs */
	/* Processes whose command lines /proc does not show yet, because they have just executed a program, at
	 * .ns (monotonic). */
	struct {
		pid_t pid;
		int64_t ns;
		unsigned int tries;
	} young[YOUNG_MAX];
	size_t young_count;
	/* The last events, and the descriptions of the processes that still ran, were added. */
	bool has_told_rest;

	/* The mutex protects these members: requests of the controller, and answers of the thread. */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int64_t from_ns;     /* events before this monotonic time are dropped */
	unsigned int wanted; /* the number of the controller's last request to catch up */
	/* The number of the last request to catch up that the thread has done. */
	unsigned int caught_up;
	bool is_ending;	 /* ptrc_os_end() or ptrc_os_close() was called */
	bool is_closing; /* ptrc_os_close() was called */
	bool is_list_wanted;
	bool is_ready;
	int error;
	/* The processes that had not ended when the list was last wanted. */
	pid_t *running;
	size_t running_count;
};

/* ---- turning records into events ---- */

static int open_type(struct ptrc_os_trace *t, enum type type)
{
	return ptrc_observer_type(t->observer, types[type].name, types[type].layout, &t->ids[type]);
}

static void add_batch(struct ptrc_os_trace *t)
{
	if (t->count || t->unobserved)
		ptrc_observer_add(t->observer, t->events, t->count, t->unobserved);
	t->count = 0;
	t->stacks_used = 0;
	t->unobserved = 0;
}

/* Adds an event with data to the batch. The caller keeps the data in place until add_batch() has added the batch
 * to the stream. */
static void put_data(struct ptrc_os_trace *t, const struct ptrc_perf_record *r, enum type type,
		     const void *data, size_t size)
{
	t->events[t->count] = (struct ptrc_observed){
		.po_time = {.tv_sec = r->ns / 1000000000, .tv_nsec = r->ns % 1000000000},
		.po_pid = r->pid,
		.po_tid = r->tid,
		.po_event = t->ids[type],
		.po_data = data,
		.po_size = size};
	if (++t->count == BATCH)
		add_batch(t);
}

static void put(struct ptrc_os_trace *t, const struct ptrc_perf_record *r, enum type type,
		const union data *data, size_t size)
{
	if (!(types[type].kinds & t->plan.kinds))
		return;
	t->data[t->count] = *data;
	put_data(t, r, type, &t->data[t->count], size);
}

/* Adds a sample with `count` addresses to the batch. `noise`: how many were left out because they are invalid. */
static void put_stack(struct ptrc_os_trace *t, const struct ptrc_perf_record *r,
		      const uint64_t *addresses, size_t count, bool is_cut, size_t noise)
{
	const struct sample s = {
		.processor = r->processor, .is_cut = is_cut, .noise = (uint8_t)noise};
	size_t size = sizeof(s) + count * sizeof(uint64_t);
	uint8_t *at;

	ptrc_os_processes_note(t->processes, r->pid, addresses, count);
	if (size > sizeof(t->stacks) - t->stacks_used)
		add_batch(t);
	at = t->stacks + t->stacks_used;
	t->stacks_used += size;
	memcpy(at, &s, sizeof(s));
	if (count)
		memcpy(at + sizeof(s), addresses, count * sizeof(uint64_t));
	put_data(t, r, TYPE_SAMPLE, at, size);
}

static void put_sample(struct ptrc_os_trace *t, const struct ptrc_perf_record *r)
{
	/* .stack_max limits only the stacks that the kernel finds. Unwinding may find more addresses. */
	uint64_t addresses[PTRC_PERF_STACK_MAX - 1];
	struct ptrc_unwound found = {.addresses = addresses, .max = PTRC_PERF_STACK_MAX - 1};
	size_t max = t->perf->stack_max - 1, callers;

	if (r->stack.copy) {
		ptrc_unwind(t->unwinder, t->processes, r, &found);
		put_stack(t, r, addresses, found.count, found.is_cut, found.noise);
		return;
	}
	callers = ptrc_os_processes_callers(t->processes, r);
	put_stack(t, r, r->stack.addresses, callers < max ? callers : max, callers > max,
		  r->stack.count - callers);
}

static void put_lost(struct ptrc_os_trace *t, const struct ptrc_perf_record *r, uint64_t events,
		     bool is_withheld)
{
	union data d;

	memset(&d, 0, sizeof(d));
	d.lost.events = events;
	d.lost.processor = r->processor;
	d.lost.is_withheld = is_withheld;
	t->unobserved += events;
	if (t->ids[TYPE_LOST] || !open_type(t, TYPE_LOST))
		put(t, r, TYPE_LOST, &d, offsetof(union data, lost.is_withheld) + 1);
}

static void put_call(struct ptrc_os_trace *t, const struct ptrc_perf_record *r)
{
	union data d;

	memset(&d, 0, sizeof(d));
	memcpy(d.begin.arguments, r->call.arguments, sizeof(d.begin.arguments));
	ptrc_syscall_name(r->call.number, d.begin.name);
	put(t, r, TYPE_SYSCALL_BEGIN, &d,
	    sizeof(d.begin.arguments) + strnlen(d.begin.name, sizeof(d.begin.name) - 1) + 1);
}

/* Whether the record is of what the caller's child did before it began to execute its program. A loss may hide that it
 * began. */
static bool is_before_program(struct ptrc_os_trace *t, const struct ptrc_perf_record *r)
{
	if (r->kind == PTRC_PERF_EXEC || r->kind == PTRC_PERF_LOST ||
	    (r->kind == PTRC_PERF_CALL_BEGIN && r->call.number == SYS_execve))
		t->is_before_program = false;
	return t->is_before_program &&
	       (r->kind == PTRC_PERF_SAMPLE || r->kind == PTRC_PERF_CALL_BEGIN ||
		r->kind == PTRC_PERF_CALL_END || r->kind == PTRC_PERF_FAULT);
}

/* Whether the call returns 0 in a new process or thread, and its ID in the thread that has made it. The numbers are not
 * those of a 32-bit program. */
static bool is_fork(int64_t number)
{
#ifdef SYS_fork
	if (number == SYS_fork || number == SYS_vfork)
		return true;
#endif
	return number == SYS_clone || number == SYS_clone3;
}

/* Whether the record is of a new thread that returns from the call by which another one has made it. This call has no
 * begin in the new thread. Until its first record of a call, or its end, the thread is in .unborn. */
static bool is_birth(struct ptrc_os_trace *t, const struct ptrc_perf_record *r)
{
	struct ptrc_table_entry *unborn;

	if (r->kind == PTRC_PERF_FORK && t->perf->has_calls)
		ptrc_table_find(&t->unborn, &r->child.tid, sizeof(r->child.tid), sizeof(*unborn));
	if (r->kind != PTRC_PERF_CALL_BEGIN && r->kind != PTRC_PERF_CALL_END &&
	    r->kind != PTRC_PERF_EXIT)
		return false;
	unborn = ptrc_table_seek(&t->unborn, &r->tid, sizeof(r->tid));
	if (!unborn)
		return false;
	ptrc_table_remove(&t->unborn, unborn);
	/* The record of the fork, in another ring, may be taken after those of the thread's first calls. Then this is
	 * the end of another call. */
	return r->kind == PTRC_PERF_CALL_END && is_fork(r->call.number) && !r->call.result;
}

static void put_record(struct ptrc_os_trace *t, const struct ptrc_perf_record *r)
{
	uint64_t missing = ptrc_os_throttle_take(&t->throttle, r, t->perf->frequency);
	union data d;

	if (missing)
		put_lost(t, r, missing, true);
	memset(&d, 0, sizeof(d));
	switch (r->kind) {
	case PTRC_PERF_FORK:
		d.fork.pid = (uint32_t)r->child.pid;
		d.fork.tid = (uint32_t)r->child.tid;
		put(t, r, TYPE_FORK, &d, sizeof(d.fork));
		break;
	case PTRC_PERF_EXEC:
		memcpy(d.name, r->name, sizeof(d.name));
		put(t, r, TYPE_EXEC, &d, strnlen(d.name, sizeof(d.name) - 1) + 1);
		break;
	case PTRC_PERF_EXIT:
		if (!ptrc_os_processes_is_hidden(t->processes, r->pid))
			put(t, r, TYPE_EXIT, &d, 0);
		/* The kernel writes no switch record for a thread that ends. Without this event, the thread
		 * would seem to run for ever. */
		d.out.processor = r->processor;
		put(t, r, TYPE_SWITCH_OUT, &d, sizeof(d.out));
		break;
	case PTRC_PERF_SWITCH_IN:
		d.out.processor = r->processor;
		put(t, r, TYPE_SWITCH_IN, &d, sizeof(d.out.processor));
		break;
	case PTRC_PERF_SWITCH_OUT:
		d.out.processor = r->processor;
		d.out.is_preempted = r->is_preempted;
		put(t, r, TYPE_SWITCH_OUT, &d, sizeof(d.out));
		break;
	case PTRC_PERF_SAMPLE:
		put_sample(t, r);
		break;
	case PTRC_PERF_CALL_BEGIN:
		put_call(t, r);
		break;
	case PTRC_PERF_CALL_END:
		d.result = r->call.result;
		put(t, r, TYPE_SYSCALL_END, &d, sizeof(d.result));
		break;
	case PTRC_PERF_FAULT:
		d.fault.memory = r->fault.address;
		d.fault.place = r->fault.place;
		d.fault.is_major = r->fault.is_major;
		put(t, r, TYPE_FAULT, &d, 2 * sizeof(uint64_t) + 1);
		break;
	case PTRC_PERF_LOST:
		put_lost(t, r, r->lost, false);
		break;
	default:
		break;
	}
}

static void found_exec(struct ptrc_os_trace *t, pid_t pid, int64_t ns)
{
	if (ptrc_os_processes_look(t->processes, pid, ns) || t->young_count == YOUNG_MAX)
		return;
	t->young[t->young_count].pid = pid;
	t->young[t->young_count].ns = ns;
	t->young[t->young_count++].tries = 0;
}

static void look_at_execs(struct ptrc_os_trace *t)
{
	const struct ptrc_perf_record *execs;
	size_t count, kept = 0;

	for (size_t i = 0; i < t->young_count; i++)
		if (!ptrc_os_processes_look(t->processes, t->young[i].pid, t->young[i].ns) &&
		    ++t->young[i].tries < YOUNG_TRIES)
			t->young[kept++] = t->young[i];
	t->young_count = kept;
	execs = ptrc_perf_take_execs(t->perf, &count);
	for (size_t i = 0; i < count; i++)
		if (execs[i].kind == PTRC_PERF_EXEC)
			found_exec(t, execs[i].pid, execs[i].ns);
}

/* Returns whether a process has ended. */
static bool take(struct ptrc_os_trace *t, int64_t from_ns, int64_t until_ns)
{
	const struct ptrc_perf_record *records;
	bool has_ended = false;
	size_t count;

	look_at_execs(t);
	records = ptrc_perf_take(t->perf, until_ns, &count);
	for (size_t i = 0; i < count; i++) {
		has_ended |= ptrc_os_processes_take(t->processes, &records[i]);
		/* The program may have begun, or a thread may have been made, while the trace was stopped or
		 * cleared. */
		if (is_before_program(t, &records[i]) || is_birth(t, &records[i]))
			continue;
		if (records[i].ns >= from_ns) {
			put_record(t, &records[i]);
		} else if (records[i].kind == PTRC_PERF_LOST &&
			   records[i].lost_until_ns >= from_ns) {
			struct ptrc_perf_record rest = records[i];

			/* The loss may have gone on after from_ns, so it is reported with that time. */
			rest.ns = from_ns;
			put_record(t, &rest);
		}
	}
	add_batch(t);
	return has_ended;
}

static void add_process(void *arg, const struct posixtrace_log_process *process,
			const struct posixtrace_log_mapping *mappings, bool is_addition)
{
	struct ptrc_os_trace *t = arg;

	/* The events in the batch are older than this description of a process, so they are added first. */
	add_batch(t);
	ptrc_observer_add_process(t->observer, process, mappings, is_addition);
}

/* ---- the thread ---- */

/* Asks the keeper to describe the processes that run already. The keeper does so now, not when it writes their
 * first events, because the processes may have ended by then. */
static void describe_running(struct ptrc_os_trace *t)
{
	for (size_t i = 0; i < t->perf->pid_count; i++)
		if (!ptrc_observer_look(t->observer, t->perf->pids[i]))
			ptrc_os_processes_leave_to_keeper(t->processes, t->perf->pids[i]);
}

static int make_observer(struct ptrc_os_trace *t)
{
	int error = ptrc_observer_open(t->trace, &t->observer);

	/* The event type of losses is opened at the first loss. */
	for (int i = 0; i < TYPE_LOST && !error; i++)
		if (types[i].kinds & t->plan.kinds)
			error = open_type(t, (enum type)i);
	/* Opening a type fails, for example, if a program has given its name another layout. */
	if (error) {
		ptrc_observer_close(t->observer);
		t->observer = NULL;
	} else if (!t->plan.is_child) {
		describe_running(t);
	}
	return error;
}

/* A copy of what the controller requests, for one pass of the loop in take_until_end(). */
struct round {
	int64_t from_ns;
	unsigned int wanted;
	bool is_last; /* no events are added later */
	bool is_wanted;
	bool is_list_wanted;
	bool is_closing;
};

static struct round next_round(struct ptrc_os_trace *t)
{
	struct round r;
	eventfd_t count;

	/* Clears the eventfd before it copies the requests. So a request that is made meanwhile is
	 * copied, or wakes this thread again. */
	eventfd_read(t->wake_fd, &count);
	pthread_mutex_lock(&t->mutex);
	r = (struct round){.from_ns = t->from_ns,
			   .wanted = t->wanted,
			   .is_last = t->is_ending && !t->has_told_rest,
			   .is_wanted = t->wanted != t->caught_up,
			   .is_list_wanted = t->is_list_wanted,
			   .is_closing = t->is_closing};
	t->is_list_wanted = false;
	pthread_mutex_unlock(&t->mutex);
	return r;
}

static int wait_ms(const struct ptrc_os_trace *t, int64_t next_ns)
{
	int64_t left_ns = next_ns - ptrc_now_ns();

	if (left_ns <= 0)
		return 0;
	return t->young_count ? 1 : (int)(left_ns / PTRC_NS_PER_MS) + 1;
}

/* Whether the stream has events of user event types. It may have some although no traced process was counted:
 * ptrace-event can record for a process that is not counted. */
static bool has_events(const struct ptrc_os_trace *t)
{
	PTRC_SCOPED struct posixtrace_type_count *counts = ptrc_type_counts(t->trace);
	bool has_any = false;

	for (size_t i = POSIX_TRACE_UNNAMED_USEREVENT; counts && i < PTRC_READER_IDS; i++)
		has_any |= counts[i].pt_events != 0;
	return has_any;
}

/* Takes all records up to now, and lists the processes that run. The kernel records a fork before the end of the parent,
 * and that end before another process can notice it. But the two records may be in the rings of two processors, of which
 * the wrong one may be read first. So if a process has ended, records of its children may be left, and are taken, too. A
 * process that did not end meanwhile is enough: the list is not empty by mistake then. */
static void list_running(struct ptrc_os_trace *t, int64_t from_ns)
{
	size_t before, count = 0;
	bool has_ended;
	pid_t *running;

	do {
		before = count;
		has_ended = take(t, from_ns, INT64_MAX);
		has_ended |= ptrc_os_processes_find_gone(t->processes);
		running = ptrc_os_processes_list(t->processes, &count);
		pthread_mutex_lock(&t->mutex);
		free(t->running);
		t->running = running;
		t->running_count = count;
		pthread_mutex_unlock(&t->mutex);
	} while (has_ended && !(before && count));
}

/* Adds the events that are in the rings. For PTRC_OS_AUTO, does so as late as possible: when the rings are
 * filling, or the trace ends. Returns false if no events are to be added at all: the trace has a traced process, a
 * process that could not be traced, or user events; or the event types cannot be opened. */
static bool take_round(struct ptrc_os_trace *t, const struct round *r, bool is_filling)
{
	struct ptrc_counts counts;

	if (t->is_waiting) {
		if (!ptrc_trace_counts(t->trace, &counts) &&
		    (counts.pt_processes || counts.pt_untraced_processes))
			return false;
		if (!is_filling && !r->is_last)
			return true;
		t->is_waiting = false;
		if (has_events(t) || make_observer(t))
			return false;
	}
	if (r->is_list_wanted)
		list_running(t, r->from_ns);
	else
		take(t, r->from_ns,
		     r->is_wanted || r->is_last ? INT64_MAX : ptrc_now_ns() - SETTLE_NS);
	if (r->is_last) {
		ptrc_os_processes_tell_rest(t->processes);
		t->has_told_rest = true;
	}
	return true;
}

/* Runs until the trace ends. Returns false if no more events are to be added although the trace goes on. */
static bool take_until_end(struct ptrc_os_trace *t)
{
	PTRC_SCOPED struct pollfd *p = ptrc_cli_allocate((1 + t->perf->source_count) * sizeof(*p));
	int64_t next_ns = ptrc_now_ns() + TAKE_MS * PTRC_NS_PER_MS;
	struct round r = {0};
	bool goes_on = true;

	while (!r.is_closing && goes_on) {
		bool is_due;

		ptrc_perf_poll(t->perf, p + 1);
		p[0] = (struct pollfd){.fd = t->wake_fd, .events = POLLIN};
		is_due = poll(p, 1 + t->perf->source_count, wait_ms(t, next_ns)) > 0 &&
			 ptrc_perf_polled(t->perf, p + 1);
		r = next_round(t);
		look_at_execs(t);
		if (!is_due && !r.is_wanted && !r.is_last && ptrc_now_ns() < next_ns)
			continue;
		goes_on = take_round(t, &r, is_due);
		next_ns = ptrc_now_ns() + TAKE_MS * PTRC_NS_PER_MS;
		pthread_mutex_lock(&t->mutex);
		t->caught_up = r.wanted;
		pthread_cond_broadcast(&t->changed);
		pthread_mutex_unlock(&t->mutex);
	}
	return r.is_closing;
}

/* Reports that the thread is ready or, with an error, that it adds no more events. */
static void report_ready(struct ptrc_os_trace *t, int error)
{
	pthread_mutex_lock(&t->mutex);
	t->error = error;
	t->is_ready = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->mutex);
}

static void *thread_main(void *arg)
{
	struct ptrc_os_trace *t = arg;
	sigset_t all;
	int error;

	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	error = t->is_waiting ? 0 : make_observer(t);
	report_ready(t, error);
	if (error)
		return NULL;
	if (!take_until_end(t)) {
		/* Closes the perf events before the end of the trace, so that they no longer cost the
		 * traced programs any time. */
		ptrc_perf_close(t->perf);
		t->perf = NULL;
		report_ready(t, ECANCELED);
	}
	ptrc_observer_close(t->observer);
	return NULL;
}

int ptrc_os_begin(struct ptrc_os_trace *t, trace_id_t trace)
{
	int error;

	t->trace = trace;
	t->from_ns = INT64_MAX;
	error = pthread_create(&t->thread, NULL, thread_main, t);
	t->has_thread = !error;
	if (error)
		return error;
	pthread_mutex_lock(&t->mutex);
	while (!t->is_ready)
		pthread_cond_wait(&t->changed, &t->mutex);
	error = t->error;
	pthread_mutex_unlock(&t->mutex);
	return error;
}

/* Waits until the thread has caught up. *request, a member of *t or NULL, becomes true before. */
static void want(struct ptrc_os_trace *t, bool *request)
{
	struct timespec until;
	unsigned int number;
	int error = 0;

	if (!t->has_thread)
		return;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += CATCH_UP_S;
	pthread_mutex_lock(&t->mutex);
	number = ++t->wanted;
	if (request)
		*request = true;
	eventfd_write(t->wake_fd, 1);
	while (!error && t->caught_up != number && !t->error)
		error = pthread_cond_timedwait(&t->changed, &t->mutex, &until);
	pthread_mutex_unlock(&t->mutex);
}

void ptrc_os_catch_up(struct ptrc_os_trace *t)
{
	if (t)
		want(t, NULL);
}

static void set_from(struct ptrc_os_trace *t, int64_t ns)
{
	pthread_mutex_lock(&t->mutex);
	t->from_ns = ns;
	pthread_mutex_unlock(&t->mutex);
}

void ptrc_os_suspend(struct ptrc_os_trace *t)
{
	if (!t)
		return;
	set_from(t, INT64_MAX);
	/* The thread may be in a pass of its loop that began with the old from_ns. Waits until it has done a later
	 * pass, because the old one still adds events. */
	want(t, NULL);
}

void ptrc_os_resume(struct ptrc_os_trace *t)
{
	if (t)
		set_from(t, ptrc_now_ns());
}

void ptrc_os_end(struct ptrc_os_trace *t)
{
	if (!t)
		return;
	want(t, &t->is_ending);
	set_from(t, INT64_MAX);
}

pid_t *ptrc_os_running(struct ptrc_os_trace *t, size_t *count)
{
	pid_t *pids = NULL;

	*count = 0;
	if (!t)
		return NULL;
	want(t, &t->is_list_wanted);
	pthread_mutex_lock(&t->mutex);
	for (size_t i = 0; i < t->running_count; i++)
		*ptrc_append(pids, *count) = t->running[i];
	pthread_mutex_unlock(&t->mutex);
	return pids;
}

/* ---- opening and closing ---- */

static void explain(int error, struct ptrc_cli_reason *refusal)
{
	bool is_forbidden = error == EACCES || error == EPERM;
	long paranoid = ptrc_perf_setting("kernel/perf_event_paranoid");
	char advice[160] = "";

	if (is_forbidden && paranoid > 2)
		snprintf(advice, sizeof(advice),
			 ", as kernel.perf_event_paranoid is %ld; 2 allows it: "
			 "sysctl kernel.perf_event_paranoid=2",
			 paranoid);
	else if (is_forbidden)
		snprintf(advice, sizeof(advice),
			 "; in a container, its seccomp profile has to allow that call, or give "
			 "CAP_PERFMON");
	else if (error == ENOSYS || error == ENOENT)
		snprintf(advice, sizeof(advice), "; the kernel needs CONFIG_PERF_EVENTS");
	else if (error == EMFILE)
		snprintf(advice, sizeof(advice),
			 "; each thread takes two descriptors for each processor: raise ulimit -n");
	ptrc_cli_because(refusal, "no events of the operating system: perf_event_open(2): %s%s",
			 strerror(error), advice);
}

/* Stores a message if the kernel's limits allow fewer samples, or smaller ones, than planned; else "". */
static void explain_limits(const struct ptrc_perf *p, const struct ptrc_perf_plan *plan,
			   struct ptrc_cli_reason *refusal)
{
	size_t kib = ptrc_perf_ring_bytes(p) / 1024;

	*refusal->text = '\0';
	if (p->has_small_rings)
		ptrc_cli_because(
			refusal,
			"only %u samples a second, with %zu bytes of each stack: more do not fit "
			"into the memory for a processor, %zu KiB (kernel.perf_event_mlock_kb); "
			"--stacks=fp needs less",
			p->frequency, p->copy_bytes, kib);
	else if (p->frequency < plan->frequency)
		ptrc_cli_because(
			refusal,
			"only %u samples a second: kernel.perf_event_max_sample_rate allows no "
			"more",
			p->frequency);
	else if (p->copy_bytes && p->copy_bytes < PTRC_PERF_COPY_BYTES)
		ptrc_cli_because(
			refusal,
			"only %zu bytes of each stack are copied, so outer callers may be "
			"missing: more do not fit into the memory for a processor, %zu KiB "
			"(kernel.perf_event_mlock_kb); fewer samples need less",
			p->copy_bytes, kib);
}

/* Whether the kernel may have refused the perf event because it cannot copy stacks or registers. */
static bool is_about_copies(const struct ptrc_perf_plan *plan, int error)
{
	return plan->registers && (error == EINVAL || error == EOPNOTSUPP || error == ENOSYS);
}

static void explain_calls(int error, struct ptrc_cli_reason *refusal)
{
	if (error == EACCES || error == EPERM)
		ptrc_cli_because(
			refusal,
			"no system calls: kernel.perf_event_paranoid is %ld, and 1 allows them: "
			"sysctl kernel.perf_event_paranoid=1; --waits needs none of it",
			ptrc_perf_setting("kernel/perf_event_paranoid"));
	else
		ptrc_cli_because(refusal, "no system calls: the kernel has no tracepoints of them "
					  "(CONFIG_FTRACE_SYSCALLS); --waits needs none");
}

static struct ptrc_perf *open_perf(const struct ptrc_os_plan *plan, uint64_t registers, pid_t pid,
				   struct ptrc_cli_reason *refusal)
{
	const char *test_bytes = getenv("POSIXTRACE_OS_BYTES");
	struct ptrc_perf_plan perf = {
		.has_switches = plan->kinds & PTRC_OS_SCHED,
		.has_descendants = !plan->is_child,
		.frequency = plan->kinds & PTRC_OS_SAMPLES ? plan->frequency : 0,
		.registers = registers,
		.has_faults = plan->kinds & PTRC_OS_FAULTS,
		.ring_bytes = test_bytes ? (size_t)strtoul(test_bytes, NULL, 10) : 0};
	int error, calls_error = 0;
	struct ptrc_tracepoints calls;
	struct ptrc_perf *p;

	if (plan->kinds & PTRC_OS_SYSCALLS) {
		calls_error = ptrc_tracepoints_find(&calls);
		perf.calls = calls_error ? NULL : &calls;
	}
	p = ptrc_perf_open(&perf, pid, &error);
	if (!p && is_about_copies(&perf, error)) {
		perf.registers = 0;
		p = ptrc_perf_open(&perf, pid, &error);
	}
	if (!p) {
		explain(error, refusal);
		return NULL;
	}
	explain_limits(p, &perf, refusal);
	if (calls_error)
		explain_calls(calls_error, refusal);
	if (!perf.registers && registers && plan->stacks == PTRC_OS_STACKS_DWARF)
		ptrc_cli_because(refusal,
				 "stacks by frame pointers only: this kernel copies no stacks");
	return p;
}

bool ptrc_os_has_dwarf(struct ptrc_cli_reason *why)
{
	struct ptrc_unwinder *u = ptrc_unwinder_new(why);

	ptrc_unwinder_free(u);
	return u != NULL;
}

/* Returns NULL if samples are to have no copies of stacks. */
static struct ptrc_unwinder *make_unwinder(const struct ptrc_os_plan *plan)
{
	struct ptrc_cli_reason why;

	return plan->kinds & PTRC_OS_SAMPLES && plan->stacks != PTRC_OS_STACKS_FP
		       ? ptrc_unwinder_new(&why)
		       : NULL;
}

struct ptrc_os_trace *ptrc_os_open(const struct ptrc_os_plan *plan, pid_t pid,
				   struct ptrc_cli_reason *refusal)
{
	struct ptrc_unwinder *unwinder = make_unwinder(plan);
	struct ptrc_perf *perf =
		open_perf(plan, unwinder ? ptrc_unwinder_registers() : 0, pid, refusal);
	struct ptrc_os_trace *t;
	pthread_condattr_t clock;

	if (!perf) {
		ptrc_unwinder_free(unwinder);
		return NULL;
	}
	t = ptrc_cli_allocate(sizeof(*t));
	t->plan = *plan;
	t->is_before_program = plan->is_child;
	t->is_waiting = plan->kinds == PTRC_OS_AUTO;
	if (t->is_waiting)
		t->plan.kinds = PTRC_OS_PROCESS;
	if (!perf->has_calls)
		t->plan.kinds &= ~(unsigned int)PTRC_OS_SYSCALLS;
	t->perf = perf;
	t->unwinder = unwinder;
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->processes = ptrc_os_processes_new(plan->hides_command_lines, add_process, t);
	pthread_mutex_init(&t->mutex, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &clock);
	pthread_condattr_destroy(&clock);
	if (t->wake_fd < 0) {
		ptrc_cli_because(refusal, "no events of the operating system: %s", strerror(errno));
		ptrc_os_close(t);
		return NULL;
	}
	if (plan->is_child)
		ptrc_os_processes_add_child(t->processes, pid, ptrc_now_ns());
	for (size_t i = 0; !plan->is_child && i < perf->pid_count; i++)
		ptrc_os_processes_add_running(t->processes, perf->pids[i]);
	return t;
}

const char *ptrc_os_allowed(struct ptrc_cli_reason *refusal)
{
	const struct ptrc_os_plan plan = {.kinds = PTRC_OS_SCHED | PTRC_OS_SAMPLES,
					  .frequency = PTRC_OS_FREQUENCY,
					  .is_child = true};
	struct ptrc_perf *p = open_perf(&plan, 0, getpid(), refusal);

	if (!p)
		return NULL;
	ptrc_perf_close(p);
	return ptrc_tracepoints_refusal() ? "process,sched,samples,faults"
					  : "process,sched,samples,syscalls,faults";
}

void ptrc_os_close(struct ptrc_os_trace *t)
{
	if (!t)
		return;
	if (t->has_thread) {
		pthread_mutex_lock(&t->mutex);
		t->is_ending = t->is_closing = true;
		pthread_mutex_unlock(&t->mutex);
		eventfd_write(t->wake_fd, 1);
		pthread_join(t->thread, NULL);
	}
	ptrc_perf_close(t->perf);
	ptrc_os_processes_free(t->processes);
	ptrc_unwinder_free(t->unwinder);
	ptrc_os_throttle_free(&t->throttle);
	ptrc_table_free(&t->unborn);
	free(t->running);
	pthread_mutex_destroy(&t->mutex);
	pthread_cond_destroy(&t->changed);
	if (t->wake_fd >= 0)
		close(t->wake_fd);
	free(t);
}
