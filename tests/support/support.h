/* SPDX-License-Identifier: MIT */
/*
 * What the tests of several areas share: whole streams read into arrays, processes that
 * can be told to do things while they are traced, threads that wait in a read, logs in
 * unnamed files. Public interface of the library only.
 *
 * Whatever goes wrong in here fails the case, with the line of the test that called: no
 * result needs a check. Nothing sleeps for luck; what is waited for is waited for with a
 * bound (HARNESS_PATIENCE_MS).
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <trace.h>

/* Data of one event that is kept here; more is read but cut (TRUNCATED_READ). */
#define TS_DATA_MAX 16384

/* What a stream holds beyond twice its stream-min-size at most, see SIZE-25. */
#define TS_SLACK_BYTES ((size_t)65536)

struct ts_event {
	struct posix_trace_event_info info;
	size_t len;
	/* malloc'ed; never null, aligned for everything, followed by a null byte. */
	unsigned char *data;
};

struct ts_events {
	size_t count;
	struct ts_event *at;
};

/*
 * Streams and attributes
 */

/* Attributes with these three set; 0 leaves the default. */
trace_attr_t ts_attr(int stream_policy, size_t stream_bytes, size_t data_bytes);
/* The same of a stream that children inherit. */
trace_attr_t ts_inherited_attr(int stream_policy, size_t stream_bytes, size_t data_bytes);

/* A stream; attr may be null. ts_create_running() also starts it: START is unread. */
trace_id_t ts_create(pid_t pid, const trace_attr_t *attr);
trace_id_t ts_create_running(pid_t pid, const trace_attr_t *attr);
/* One of this process, with attributes as of ts_attr(): not started, and running. */
trace_id_t ts_make(int stream_policy, size_t stream_bytes, size_t data_bytes);
trace_id_t ts_run(int stream_policy, size_t stream_bytes, size_t data_bytes);
/* One of the process that runs, and that children inherit. */
trace_id_t ts_run_inherited(pid_t pid, int stream_policy, size_t stream_bytes, size_t data_bytes);
/* With the log in fd, which stays open. */
trace_id_t ts_create_log(pid_t pid, const trace_attr_t *attr, int fd);
void ts_start(trace_id_t trid);
void ts_stop(trace_id_t trid);
void ts_flush(trace_id_t trid);
void ts_clear(trace_id_t trid);
void ts_shutdown(trace_id_t trid);

/* Resets the overrun members and the flush error, as the call does. */
struct posix_trace_status_info ts_status(trace_id_t trid);
/* The figure of posixtrace_get_counts() that has this name. */
unsigned long ts_figure(trace_id_t trid, const char *name);
/* The status is exactly this; overrun members and flush error are those in memory. */
void ts_expect_status(trace_id_t trid, int status, int full, int overrun);

/* It runs, or does not, and has room and lost nothing. */
void ts_expect_running(trace_id_t trid);
void ts_expect_suspended(trace_id_t trid);

/* The types that each stream has. */
struct ts_predefined {
	trace_event_id_t id;
	const char *name;
};
#define TS_PREDEFINED 9
extern const struct ts_predefined ts_predefined[TS_PREDEFINED];

/* Identifier of a name in the calling process. */
trace_event_id_t ts_id(const char *name);
/* The same through a stream. */
trace_event_id_t ts_trid_id(trace_id_t trid, const char *name);

/* The set with these members, up to a 0. */
trace_event_set_t ts_set(trace_event_id_t first, ...);
bool ts_is_member(const trace_event_set_t *set, trace_event_id_t id);
/* Equal members over the representable range. */
bool ts_same_set(const trace_event_set_t *a, const trace_event_set_t *b);
trace_event_set_t ts_filter(trace_id_t trid);
void ts_set_filter(trace_id_t trid, const trace_event_set_t *set, int how);

/*
 * Generating
 */

/* An event with 4 bytes of data, the number. ts_number() is the number of such an
 * event. */
void ts_emit(trace_event_id_t id, uint32_t number);
uint32_t ts_number(const struct ts_event *event);

/* Events of len bytes (4 at least) numbered from `first' on, until the status says FULL;
 * fails if that takes more than twice stream_bytes plus TS_SLACK_BYTES of data. The
 * number after the last one. Resets the overrun status, a loss by the very last event
 * included. */
uint32_t ts_fill(trace_id_t trid, size_t stream_bytes, trace_event_id_t id, size_t len,
		 uint32_t first);

/* Numbered events of len bytes (4 at least) whose data alone add up to more than any
 * stream of that stream-min-size can hold; the status is left alone. */
uint32_t ts_flood(size_t stream_bytes, trace_event_id_t id, size_t len, uint32_t first);

/*
 * Reading. An event that was filled in owns its data: ts_event_free(), or let the case
 * end.
 */

/* trygetnext; false if there is no event. */
bool ts_try_next(trace_id_t trid, struct ts_event *event);
/* The next event, waited for if need be. */
struct ts_event ts_next(trace_id_t trid);
/* As ts_next(), and it is of that type. */
struct ts_event ts_expect(trace_id_t trid, trace_event_id_t id);
/* And it has this number. */
void ts_expect_number(trace_id_t trid, trace_event_id_t id, uint32_t number);
/* There is no event now. */
void ts_expect_none(trace_id_t trid);
/* Everything that an active stream has now (it stops at the first "unavailable"). */
struct ts_events ts_read_all(trace_id_t trid);
/* Everything up to the first event of the type, which is waited for. While others record,
 * ts_read_all() may stop early: a record in the making holds back what is behind it. */
struct ts_events ts_read_until(trace_id_t trid, trace_event_id_t id);
/* Everything from the position of a pre-recorded stream to its end. */
struct ts_events ts_read_log(trace_id_t trid);
void ts_event_free(struct ts_event *event);
void ts_events_free(struct ts_events *events);

/* The int that a STOP event carries; a set in the data of an event, by number. */
int ts_stop_reason(const struct ts_event *event);
trace_event_set_t ts_set_in(const struct ts_event *event, size_t index);

/* How many are of the type; index of the first one at or behind `from', or -1. */
size_t ts_count(const struct ts_events *events, trace_event_id_t id);
ssize_t ts_find(const struct ts_events *events, trace_event_id_t id, size_t from);
/* The ids are exactly these, in this order, up to a 0. */
void ts_expect_ids(const struct ts_events *events, trace_event_id_t first, ...);
/* Timestamps never go backwards. */
void ts_expect_sorted(const struct ts_events *events);
/* Events of the type are numbered first, first + 1, ... last, and nothing else; timestamps never go
 * backwards. */
void ts_expect_numbers(const struct ts_events *events, trace_event_id_t id, uint32_t first,
		       uint32_t last);

/* Nanoseconds since the epoch. */
int64_t ts_time_ns(const struct timespec *time);
int64_t ts_realtime_ns(void);
/* CLOCK_REALTIME in so many milliseconds, for timedgetnext. */
struct timespec ts_deadline(int ms);

/*
 * Files
 */

/* A new empty regular file without a name, open for reading and writing. */
int ts_temp_file(void);
/* The same with a name, stored in path; the test unlinks it. */
int ts_temp_named(char *path, size_t path_bytes);
/* A second open file description of the same file, with flags of its own. */
int ts_reopen(int fd, int flags);
off_t ts_file_size(int fd);
/* Opens the log; close with ts_close_log(). */
trace_id_t ts_open_log(int fd);
void ts_close_log(trace_id_t trid);
/* Opens the log in fd, reads it from begin to end, closes it. */
struct ts_events ts_log_events(int fd);
/* Shuts the stream down, and opens its log, which is in fd, or reads all of that. */
trace_id_t ts_end_and_open_log(trace_id_t trid, int fd);
struct ts_events ts_end_log(trace_id_t trid, int fd);
/* Reads it; its events of the type are numbered first to last. */
void ts_expect_logged(trace_id_t trid, int fd, trace_event_id_t id, uint32_t first, uint32_t last);

/*
 * A log device that is stuck: a pipe that nobody reads and that takes no more than 4096
 * bytes once the head of the log is through. The log-full policy must be APPEND.
 */
struct ts_stuck {
	int from, file;
	bool is_moving;
	pthread_t mover;
};
trace_id_t ts_create_stuck(pid_t pid, const trace_attr_t *attr, struct ts_stuck *stuck);
/* From now on the pipe is read. */
void ts_unstick(struct ts_stuck *stuck);
/* After the end of the stream: a file with the whole log. */
int ts_stuck_log(struct ts_stuck *stuck);

/*
 * Other processes that do as they are told. Each call returns when it has been done.
 */

struct ts_target {
	pid_t pid;
	int sock;
};

/* What a target runs: gets a copy of the argument, its result is the call's. Must be in
 * the test program itself, not in a shared library. */
typedef intptr_t ts_routine(const void *arg, size_t arg_bytes);

/* A child of this process, idle. */
struct ts_target ts_target_fork(void);
/* Has the target call a routine, with arg_bytes (TS_DATA_MAX at most) of *arg. */
intptr_t ts_target_call(struct ts_target *target, ts_routine *routine, const void *arg,
			size_t arg_bytes);
/* Begins a call and does not wait; ts_target_result() does. */
void ts_target_call_begin(struct ts_target *target, ts_routine *routine, const void *arg,
			  size_t arg_bytes);
intptr_t ts_target_result(struct ts_target *target);
/* posix_trace_event() there. */
void ts_target_event(struct ts_target *target, trace_event_id_t id, const void *data, size_t len);
void ts_target_emit(struct ts_target *target, trace_event_id_t id, uint32_t number);
/* posix_trace_eventid_open() there. */
trace_event_id_t ts_target_id(struct ts_target *target, const char *name);
/* A child of the target, idle; end it before its parent. */
struct ts_target ts_target_fork_child(struct ts_target *target);
/* The target execs this program again and goes on taking calls; same pid. */
void ts_target_exec(struct ts_target *target);
/* A shell, without the library, that execs this program as a target when released. */
struct ts_target ts_target_late(int *release);
void ts_target_release(int release);
/* For tests that exec or spawn by their own means: a pair of sockets, of which ends[1]
 * survives exec. `PROGRAM --helper ts_serve ENDS[1]' is the target {its pid, ends[0]}; the
 * caller closes its copy of ends[1]. */
void ts_target_sockets(int ends[2]);
/* Serves calls on the descriptor until the other end is closed. */
void ts_target_serve(int sock);

/* Ends it by exit(0), if it is this process's child reaps it and checks that; returns when
 * it is gone or a zombie of another parent. */
void ts_target_end(struct ts_target *target);
/* The same by SIGKILL. */
void ts_target_kill(struct ts_target *target);

/*
 * Threads
 */

/* Waits until the thread of the process sleeps in the kernel, several looks in a row. */
void ts_wait_asleep(pid_t pid, pid_t tid);
/* Waits until the first thread of the process has gone to sleep so many times more: until a keeper,
 * which sleeps between its looks, has looked. */
void ts_wait_turns(pid_t pid, unsigned int turns);
/* Thread ID of the calling thread. */
pid_t ts_gettid(void);

/* A thread that calls posix_trace_getnext_event() once. */
struct ts_reader {
	pthread_t thread;
	_Atomic pid_t tid;
	_Atomic bool has_returned;
	trace_id_t trid;
	/* Valid after ts_reader_join(). */
	int result;
	int unavailable;
	struct ts_event event;
};

/* Starts it and returns once it waits. */
void ts_reader_start(struct ts_reader *reader, trace_id_t trid);
/* It has not come back from the call. */
bool ts_reader_is_waiting(struct ts_reader *reader);
/* Waits for its end. */
void ts_reader_join(struct ts_reader *reader);

/* Creates a thread; waits for its end. */
pthread_t ts_thread(void *(*run)(void *), void *arg);
void *ts_join(pthread_t thread);

/*
 * Signals
 */

/* SIGALRM, with a handler and without SA_RESTART, after so many microseconds, and again a little
 * later, and so on until ts_interrupt_end(), which says how often it came. */
void ts_interrupt(long us);
unsigned int ts_interrupt_end(void);

/*
 * Users
 */

/* User number n (below 16) of those that this run of the program has for itself; what they
 * leave in /dev/shm is removed at its end. */
uid_t ts_user(unsigned int n);
/* Become that user, for ever. Skips the case if that cannot be. */
void ts_drop_privileges(unsigned int n);

/*
 * How a failure in support.c reaches the harness, which lives in the test program's
 * translation unit alone.
 */
void ts_where(const char *file, int line);
extern void (*ts_on_failure)(const char *message);
extern void (*ts_on_skip)(const char *reason);
extern int64_t ts_patience_ms;

#ifndef TS_WITHOUT_HARNESS
#include "tests/support/harness.h"

__attribute__((noreturn)) static void ts_report_failure(const char *message)
{
	harness_fail("%s", message);
}

__attribute__((constructor)) static void ts_connect(void)
{
	ts_on_failure = ts_report_failure;
	ts_on_skip = harness_skip;
	ts_patience_ms = harness_patience_ms();
}

HELPER(ts_serve)
{
	ts_target_serve(atoi(argv[0]));
	return 0;
}

/* Every call leaves its place behind, for the message. */
#define TS_HERE ts_where(__FILE__, __LINE__)
#define ts_attr(...) (TS_HERE, ts_attr(__VA_ARGS__))
#define ts_inherited_attr(...) (TS_HERE, ts_inherited_attr(__VA_ARGS__))
#define ts_create(...) (TS_HERE, ts_create(__VA_ARGS__))
#define ts_create_running(...) (TS_HERE, ts_create_running(__VA_ARGS__))
#define ts_make(...) (TS_HERE, ts_make(__VA_ARGS__))
#define ts_run(...) (TS_HERE, ts_run(__VA_ARGS__))
#define ts_run_inherited(...) (TS_HERE, ts_run_inherited(__VA_ARGS__))
#define ts_create_log(...) (TS_HERE, ts_create_log(__VA_ARGS__))
#define ts_start(...) (TS_HERE, ts_start(__VA_ARGS__))
#define ts_stop(...) (TS_HERE, ts_stop(__VA_ARGS__))
#define ts_flush(...) (TS_HERE, ts_flush(__VA_ARGS__))
#define ts_clear(...) (TS_HERE, ts_clear(__VA_ARGS__))
#define ts_shutdown(...) (TS_HERE, ts_shutdown(__VA_ARGS__))
#define ts_status(...) (TS_HERE, ts_status(__VA_ARGS__))
#define ts_figure(...) (TS_HERE, ts_figure(__VA_ARGS__))
#define ts_expect_status(...) (TS_HERE, ts_expect_status(__VA_ARGS__))
#define ts_expect_running(...) (TS_HERE, ts_expect_running(__VA_ARGS__))
#define ts_expect_suspended(...) (TS_HERE, ts_expect_suspended(__VA_ARGS__))
#define ts_stop_reason(...) (TS_HERE, ts_stop_reason(__VA_ARGS__))
#define ts_set_in(...) (TS_HERE, ts_set_in(__VA_ARGS__))
#define ts_id(...) (TS_HERE, ts_id(__VA_ARGS__))
#define ts_trid_id(...) (TS_HERE, ts_trid_id(__VA_ARGS__))
#define ts_filter(...) (TS_HERE, ts_filter(__VA_ARGS__))
#define ts_set_filter(...) (TS_HERE, ts_set_filter(__VA_ARGS__))
#define ts_number(...) (TS_HERE, ts_number(__VA_ARGS__))
#define ts_fill(...) (TS_HERE, ts_fill(__VA_ARGS__))
#define ts_try_next(...) (TS_HERE, ts_try_next(__VA_ARGS__))
#define ts_next(...) (TS_HERE, ts_next(__VA_ARGS__))
#define ts_expect(...) (TS_HERE, ts_expect(__VA_ARGS__))
#define ts_expect_number(...) (TS_HERE, ts_expect_number(__VA_ARGS__))
#define ts_expect_none(...) (TS_HERE, ts_expect_none(__VA_ARGS__))
#define ts_read_all(...) (TS_HERE, ts_read_all(__VA_ARGS__))
#define ts_read_until(...) (TS_HERE, ts_read_until(__VA_ARGS__))
#define ts_read_log(...) (TS_HERE, ts_read_log(__VA_ARGS__))
#define ts_expect_ids(...) (TS_HERE, ts_expect_ids(__VA_ARGS__))
#define ts_expect_sorted(...) (TS_HERE, ts_expect_sorted(__VA_ARGS__))
#define ts_expect_numbers(...) (TS_HERE, ts_expect_numbers(__VA_ARGS__))
#define ts_open_log(...) (TS_HERE, ts_open_log(__VA_ARGS__))
#define ts_close_log(...) (TS_HERE, ts_close_log(__VA_ARGS__))
#define ts_log_events(...) (TS_HERE, ts_log_events(__VA_ARGS__))
#define ts_end_and_open_log(...) (TS_HERE, ts_end_and_open_log(__VA_ARGS__))
#define ts_end_log(...) (TS_HERE, ts_end_log(__VA_ARGS__))
#define ts_expect_logged(...) (TS_HERE, ts_expect_logged(__VA_ARGS__))
#define ts_create_stuck(...) (TS_HERE, ts_create_stuck(__VA_ARGS__))
#define ts_unstick(...) (TS_HERE, ts_unstick(__VA_ARGS__))
#define ts_stuck_log(...) (TS_HERE, ts_stuck_log(__VA_ARGS__))
#define ts_target_call(...) (TS_HERE, ts_target_call(__VA_ARGS__))
#define ts_target_result(...) (TS_HERE, ts_target_result(__VA_ARGS__))
#define ts_target_event(...) (TS_HERE, ts_target_event(__VA_ARGS__))
#define ts_target_emit(...) (TS_HERE, ts_target_emit(__VA_ARGS__))
#define ts_target_id(...) (TS_HERE, ts_target_id(__VA_ARGS__))
#define ts_target_fork_child(...) (TS_HERE, ts_target_fork_child(__VA_ARGS__))
#define ts_target_exec(...) (TS_HERE, ts_target_exec(__VA_ARGS__))
#define ts_target_late(...) (TS_HERE, ts_target_late(__VA_ARGS__))
#define ts_target_end(...) (TS_HERE, ts_target_end(__VA_ARGS__))
#define ts_wait_asleep(...) (TS_HERE, ts_wait_asleep(__VA_ARGS__))
#define ts_wait_turns(...) (TS_HERE, ts_wait_turns(__VA_ARGS__))
#define ts_reader_start(...) (TS_HERE, ts_reader_start(__VA_ARGS__))
#define ts_reader_join(...) (TS_HERE, ts_reader_join(__VA_ARGS__))
#define ts_join(...) (TS_HERE, ts_join(__VA_ARGS__))
#endif

#endif
