/* SPDX-License-Identifier: MIT */
/*
 * Functions for tests of several areas: they read whole streams into arrays, make processes that
 * call functions for a test while they are traced, threads that wait in a read, and logs in unnamed
 * files. They use only the public interface of the library.
 *
 * If a function fails, the case fails, and the message names the line of the test that called it.
 * So a test need not check results. No function sleeps for a fixed time in the hope that something
 * has happened by then: it waits until it has happened, at most for HARNESS_PATIENCE_MS.
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

/* The most data of one event that these functions read; longer data is truncated
 * (POSIX_TRACE_TRUNCATED_READ). */
#define TS_DATA_MAX 16384

/* A stream holds at most twice its stream-min-size and this many bytes (requirement SIZE-25). */
#define TS_SLACK_BYTES ((size_t)65536)

struct ts_event {
	struct posix_trace_event_info info;
	size_t len;
	/* From malloc(), so aligned for every type; never NULL; a null byte follows the data. */
	unsigned char *data;
};

struct ts_events {
	size_t count;
	struct ts_event *at;
};

/*
 * Streams and attributes
 */

/* Attributes with these values for stream-full-policy, stream-min-size and max-data-size; 0 leaves
 * the default. */
trace_attr_t ts_attr(int stream_policy, size_t stream_bytes, size_t data_bytes);
/* As ts_attr(), with the inheritance policy POSIX_TRACE_INHERITED. */
trace_attr_t ts_inherited_attr(int stream_policy, size_t stream_bytes, size_t data_bytes);

/* What attributes are set to. */
struct ts_values {
	char name[TRACE_NAME_MAX], version[TRACE_NAME_MAX];
	int inherited, log_policy, stream_policy;
	size_t log_bytes, data_bytes, stream_bytes;
	/* The maximum size of a system event. */
	size_t system_bytes;
	/* Nanoseconds: the creation time since the Epoch, and the resolution of the clock. */
	int64_t created_ns, clock_ns;
};
struct ts_values ts_values(const trace_attr_t *attr);
/* The values of a stream or log. */
struct ts_values ts_values_of(trace_id_t trid);
/* The maximum size of a user event with len bytes of data. */
size_t ts_user_bytes(const trace_attr_t *attr, size_t len);

/* Creates a stream; attr may be NULL. ts_create_running() also starts it; its START event is not
 * read yet. */
trace_id_t ts_create(pid_t pid, const trace_attr_t *attr);
trace_id_t ts_create_running(pid_t pid, const trace_attr_t *attr);
/* Create a stream of this process, or of another one, with the attributes of ts_attr(). ts_run()
 * and ts_run_of() also start it. */
trace_id_t ts_make(int stream_policy, size_t stream_bytes, size_t data_bytes);
trace_id_t ts_make_of(pid_t pid, int stream_policy, size_t stream_bytes, size_t data_bytes);
trace_id_t ts_run(int stream_policy, size_t stream_bytes, size_t data_bytes);
trace_id_t ts_run_of(pid_t pid, int stream_policy, size_t stream_bytes, size_t data_bytes);
/* Creates and starts a stream of process `pid`, which its children inherit. */
trace_id_t ts_run_inherited(pid_t pid, int stream_policy, size_t stream_bytes, size_t data_bytes);
/* Reads START, which is the next event, and returns the stream. */
trace_id_t ts_past_start(trace_id_t trid);
/* Creates a stream with its log in fd, which stays open. */
trace_id_t ts_create_log(pid_t pid, const trace_attr_t *attr, int fd);
void ts_start(trace_id_t trid);
void ts_stop(trace_id_t trid);
void ts_flush(trace_id_t trid);
void ts_clear(trace_id_t trid);
void ts_shutdown(trace_id_t trid);

/* The status of the stream or log. Like posix_trace_get_status(), this resets the overrun members
 * and the flush error. */
struct posix_trace_status_info ts_status(trace_id_t trid);
/* The count with this name from posixtrace_get_counts(). */
unsigned long ts_figure(trace_id_t trid, const char *name);
/* Checks that stream status, full status and overrun status are these. Resets the status like
 * ts_status(). */
void ts_expect_status(trace_id_t trid, int status, int full, int overrun);

/* Check that the stream runs, or is suspended, is not full and has no overrun. */
void ts_expect_running(trace_id_t trid);
void ts_expect_suspended(trace_id_t trid);

/* The predefined event types, which every stream has. */
struct ts_predefined {
	trace_event_id_t id;
	const char *name;
};
#define TS_PREDEFINED 9
extern const struct ts_predefined ts_predefined[TS_PREDEFINED];

/* Opens an event name in this process, and returns its identifier. */
trace_event_id_t ts_id(const char *name);
/* Opens an event name in the target of the stream, and returns its identifier. */
trace_event_id_t ts_trid_id(trace_id_t trid, const char *name);
/* Checks that the event type has this name. */
void ts_expect_name(trace_id_t trid, trace_event_id_t id, const char *name);

/* The set with these members; the arguments end with 0. */
trace_event_set_t ts_set(trace_event_id_t first, ...);
bool ts_is_member(const trace_event_set_t *set, trace_event_id_t id);
/* Whether the two sets have the same members, among all identifiers that can exist. */
bool ts_same_set(const trace_event_set_t *a, const trace_event_set_t *b);
trace_event_set_t ts_filter(trace_id_t trid);
void ts_set_filter(trace_id_t trid, const trace_event_set_t *set, int how);
/* Check that the set, or the filter, has just these members; the arguments end with 0. */
void ts_expect_set(const trace_event_set_t *set, trace_event_id_t first, ...);
void ts_expect_filter(trace_id_t trid, trace_event_id_t first, ...);

/*
 * Generating
 */

/* Records an event whose data is the number, 4 bytes. ts_number() returns the number of such an
 * event. */
void ts_emit(trace_event_id_t id, uint32_t number);
uint32_t ts_number(const struct ts_event *event);
/* Records events with the numbers first to last. */
void ts_emit_numbers(trace_event_id_t id, uint32_t first, uint32_t last);

/* Records numbered events of len bytes (at least 4), starting with the number `first`, until the
 * stream is FULL. Returns the number after the last one. Fails if more than 2 * stream_bytes +
 * TS_SLACK_BYTES bytes of data do not fill the stream. Resets the overrun status, even if the last
 * event was lost. */
uint32_t ts_fill(trace_id_t trid, size_t stream_bytes, trace_event_id_t id, size_t len,
		 uint32_t first);

/* Records numbered events of len bytes (at least 4), starting with the number `first`, until their
 * data is more than a stream with the stream-min-size stream_bytes can hold. Returns the number
 * after the last one. Does not reset the status. */
uint32_t ts_flood(size_t stream_bytes, trace_event_id_t id, size_t len, uint32_t first);

/*
 * Reading. The data of each event that these functions return is allocated. The test may free it
 * with ts_event_free(), or leave it until the case ends.
 */

/* Reads the next event; returns false if there is none now. */
bool ts_try_next(trace_id_t trid, struct ts_event *event);
/* Reads the next event; waits for it if there is none. */
struct ts_event ts_next(trace_id_t trid);
/* Like ts_next(); the event must be of this type. */
struct ts_event ts_expect(trace_id_t trid, trace_event_id_t id);
/* Reads the next event, which must be of this type and have this number. */
void ts_expect_number(trace_id_t trid, trace_event_id_t id, uint32_t number);
/* Checks that there is no event to read now. */
void ts_expect_none(trace_id_t trid);
/* Reads from an active stream until no event is available. ts_read_ids() checks the events like
 * ts_expect_ids(), ts_read_numbers() like ts_expect_numbers(). */
struct ts_events ts_read_all(trace_id_t trid);
struct ts_events ts_read_ids(trace_id_t trid, trace_event_id_t first, ...);
struct ts_events ts_read_numbers(trace_id_t trid, trace_event_id_t id, uint32_t first,
				 uint32_t last);
/* Reads up to and including the first event of this type, and waits for it. ts_read_all() may stop
 * too early while other threads record: until an event call has ended, later events cannot be
 * read. */
struct ts_events ts_read_until(trace_id_t trid, trace_event_id_t id);
/* Reads an opened log from its position to its end. */
struct ts_events ts_read_log(trace_id_t trid);
void ts_event_free(struct ts_event *event);
void ts_events_free(struct ts_events *events);

/* ts_stop_reason() returns the int in a STOP event; ts_set_in() returns set number `index`, from 0,
 * in the data of an event. */
int ts_stop_reason(const struct ts_event *event);
trace_event_set_t ts_set_in(const struct ts_event *event, size_t index);

/* ts_count() returns the number of events of this type; ts_find() the index of the first one whose
 * index is not below `from`, or -1. */
size_t ts_count(const struct ts_events *events, trace_event_id_t id);
ssize_t ts_find(const struct ts_events *events, trace_event_id_t id, size_t from);
/* Checks that the events have exactly these ids, in this order; the arguments end with 0. */
void ts_expect_ids(const struct ts_events *events, trace_event_id_t first, ...);
/* Checks that timestamps never go backwards. */
void ts_expect_sorted(const struct ts_events *events);
/* Checks that the events of this type have exactly the numbers first to last, in order, and that
 * timestamps never go backwards. */
void ts_expect_numbers(const struct ts_events *events, trace_event_id_t id, uint32_t first,
		       uint32_t last);

/* Nanoseconds since the Epoch: of the argument; of the current CLOCK_REALTIME. */
int64_t ts_time_ns(const struct timespec *time);
int64_t ts_realtime_ns(void);
/* The time `ms` milliseconds from now, for posix_trace_timedgetnext_event(). */
struct timespec ts_deadline(int ms);

/*
 * Files
 */

/* A new empty regular file without a name, open for reading and writing. */
int ts_temp_file(void);
/* A new empty regular file with a name, which is stored in path; the test unlinks it. */
int ts_temp_named(char *path, size_t path_bytes);
/* Opens the file of fd a second time, with other flags. The result is an open file description of
 * its own. */
int ts_reopen(int fd, int flags);
off_t ts_file_size(int fd);
/* Opens the log; close with ts_close_log(). */
trace_id_t ts_open_log(int fd);
void ts_close_log(trace_id_t trid);
/* Opens the log in fd, reads all its events, and closes it. */
struct ts_events ts_log_events(int fd);
/* Both shut the stream down. Then ts_end_and_open_log() opens its log, which is in fd; ts_end_log()
 * reads all events of the log. */
trace_id_t ts_end_and_open_log(trace_id_t trid, int fd);
struct ts_events ts_end_log(trace_id_t trid, int fd);
/* Checks that the events of this type in the log have exactly the numbers first to last, as
 * ts_expect_numbers() does. ts_expect_logged() shuts the stream of the log down before. */
void ts_expect_in_log(int fd, trace_event_id_t id, uint32_t first, uint32_t last);
void ts_expect_logged(trace_id_t trid, int fd, trace_event_id_t id, uint32_t first, uint32_t last);

/*
 * A log that accepts no data: a pipe from which no process reads, with room for 4096 bytes after
 * the head of the log. The log-full policy must be APPEND.
 */
struct ts_stuck {
	int from, file;
	bool is_moving;
	pthread_t mover;
};
trace_id_t ts_create_stuck(pid_t pid, const trace_attr_t *attr, struct ts_stuck *stuck);
/* Starts a thread that reads the pipe, so that the log accepts data. */
void ts_unstick(struct ts_stuck *stuck);
/* After the stream has ended: returns a file with the whole log. */
int ts_stuck_log(struct ts_stuck *stuck);

/*
 * Targets: other processes that call functions for a test. Unless a comment says otherwise, each
 * function returns when the target has done what was asked.
 */

struct ts_target {
	pid_t pid;
	int sock;
};

/* A function that a target calls. It gets a copy of the argument, and its result is that of
 * ts_target_call(). It must be in the test program itself, not in a shared library. */
typedef intptr_t ts_routine(const void *arg, size_t arg_bytes);
/* Begins the definition of a routine that need not use both arguments. */
#define TS_ROUTINE(name)                                              \
	static intptr_t name(__attribute__((unused)) const void *arg, \
			     __attribute__((unused)) size_t arg_bytes)

/* Forks a child of this process that waits for calls. */
struct ts_target ts_target_fork(void);
/* Makes the target call a routine with a copy of *arg, which has arg_bytes bytes (at most
 * TS_DATA_MAX). */
intptr_t ts_target_call(struct ts_target *target, ts_routine *routine, const void *arg,
			size_t arg_bytes);
/* Starts a call without waiting for its end. ts_target_result() waits for it and returns its
 * result. */
void ts_target_call_begin(struct ts_target *target, ts_routine *routine, const void *arg,
			  size_t arg_bytes);
intptr_t ts_target_result(struct ts_target *target);
/* Makes the target record an event, as ts_emit() does in this process. */
void ts_target_emit(struct ts_target *target, trace_event_id_t id, uint32_t number);
/* Makes the target call posix_trace_eventid_open(). */
trace_event_id_t ts_target_id(struct ts_target *target, const char *name);
/* Makes the target fork a child that waits for calls. The test ends it before its parent. */
struct ts_target ts_target_fork_child(struct ts_target *target);
/* Makes the target execute this program again. It then waits for calls again, with the same pid. */
void ts_target_exec(struct ts_target *target);
/* Starts a shell, which does not have the library. After ts_target_release(*release) it executes
 * this program, which then waits for calls. */
struct ts_target ts_target_late(int *release);
void ts_target_release(int release);
/* Run in a target: executes the calls that arrive at the socket until its other end is closed. */
void ts_target_serve(int sock);

/* Makes the target call exit(0), and returns when it has ended. If it is a child of this process,
 * reaps it and checks the exit status; otherwise it may still be a zombie. */
void ts_target_end(struct ts_target *target);
/* Kills the target by SIGKILL, and returns when it has ended. */
void ts_target_kill(struct ts_target *target);

/*
 * Threads
 */

/* Waits until the thread has been found asleep in the kernel several times in a row. */
void ts_wait_asleep(pid_t pid, pid_t tid);
/* Waits until the first thread of the process has gone to sleep `turns` more times. A keeper sleeps
 * after each look at its stream, so this waits until the keeper has looked. */
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

/* Starts the thread, and returns when it waits in the call. */
void ts_reader_start(struct ts_reader *reader, trace_id_t trid);
/* Whether the call of the thread has not returned yet. */
bool ts_reader_is_waiting(struct ts_reader *reader);
/* Waits for the end of the thread. */
void ts_reader_join(struct ts_reader *reader);
/* Waits for the end of the thread, which has got an event with this number. */
void ts_reader_expect(struct ts_reader *reader, uint32_t number);

/* ts_thread() creates a thread; ts_join() waits for its end and returns its result. */
pthread_t ts_thread(void *(*run)(void *), void *arg);
void *ts_join(pthread_t thread);
/* Forks a child that calls the function like a new thread, and then exits with 0. */
pid_t ts_process(void *(*run)(void *), void *arg);

/* Records numbered events, from 0 on, as long as it is not over and fewer than `allowed` have been
 * begun. It may be in shared memory. */
struct ts_emitter {
	trace_event_id_t id;
	_Atomic uint32_t begun, done, allowed;
	_Atomic bool is_over;
};
/* To be run by ts_thread() or ts_process(). */
void *ts_emit_on(void *emitter);

/*
 * Signals
 */

/* Interrupts system calls: sends SIGALRM, which has a handler without SA_RESTART, after `us`
 * microseconds, and again and again after a little longer each time. ts_interrupt_end() ends this
 * and returns the number of signals. */
void ts_interrupt(long us);
unsigned int ts_interrupt_end(void);

/*
 * Users
 */

/* User number n (below 16) of the users that no other test program uses at the same time. Their
 * objects in /dev/shm are removed at the end of this program. */
uid_t ts_user(unsigned int n);
/* Changes this process to that user. Skips the case if the process is not root. */
void ts_drop_privileges(unsigned int n);

/*
 * How support.c reports a failure to the harness, whose functions exist only in the test program's
 * own translation unit.
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

/* Each call first stores its file and line, for the message if it fails. */
#define TS_HERE ts_where(__FILE__, __LINE__)
#define ts_attr(...) (TS_HERE, ts_attr(__VA_ARGS__))
#define ts_inherited_attr(...) (TS_HERE, ts_inherited_attr(__VA_ARGS__))
#define ts_values(...) (TS_HERE, ts_values(__VA_ARGS__))
#define ts_values_of(...) (TS_HERE, ts_values_of(__VA_ARGS__))
#define ts_user_bytes(...) (TS_HERE, ts_user_bytes(__VA_ARGS__))
#define ts_create(...) (TS_HERE, ts_create(__VA_ARGS__))
#define ts_create_running(...) (TS_HERE, ts_create_running(__VA_ARGS__))
#define ts_make(...) (TS_HERE, ts_make(__VA_ARGS__))
#define ts_run(...) (TS_HERE, ts_run(__VA_ARGS__))
#define ts_make_of(...) (TS_HERE, ts_make_of(__VA_ARGS__))
#define ts_run_of(...) (TS_HERE, ts_run_of(__VA_ARGS__))
#define ts_run_inherited(...) (TS_HERE, ts_run_inherited(__VA_ARGS__))
#define ts_past_start(...) (TS_HERE, ts_past_start(__VA_ARGS__))
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
#define ts_expect_name(...) (TS_HERE, ts_expect_name(__VA_ARGS__))
#define ts_filter(...) (TS_HERE, ts_filter(__VA_ARGS__))
#define ts_set_filter(...) (TS_HERE, ts_set_filter(__VA_ARGS__))
#define ts_expect_set(...) (TS_HERE, ts_expect_set(__VA_ARGS__))
#define ts_expect_filter(...) (TS_HERE, ts_expect_filter(__VA_ARGS__))
#define ts_number(...) (TS_HERE, ts_number(__VA_ARGS__))
#define ts_fill(...) (TS_HERE, ts_fill(__VA_ARGS__))
#define ts_try_next(...) (TS_HERE, ts_try_next(__VA_ARGS__))
#define ts_next(...) (TS_HERE, ts_next(__VA_ARGS__))
#define ts_expect(...) (TS_HERE, ts_expect(__VA_ARGS__))
#define ts_expect_number(...) (TS_HERE, ts_expect_number(__VA_ARGS__))
#define ts_expect_none(...) (TS_HERE, ts_expect_none(__VA_ARGS__))
#define ts_read_all(...) (TS_HERE, ts_read_all(__VA_ARGS__))
#define ts_read_ids(...) (TS_HERE, ts_read_ids(__VA_ARGS__))
#define ts_read_numbers(...) (TS_HERE, ts_read_numbers(__VA_ARGS__))
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
#define ts_expect_in_log(...) (TS_HERE, ts_expect_in_log(__VA_ARGS__))
#define ts_expect_logged(...) (TS_HERE, ts_expect_logged(__VA_ARGS__))
#define ts_create_stuck(...) (TS_HERE, ts_create_stuck(__VA_ARGS__))
#define ts_unstick(...) (TS_HERE, ts_unstick(__VA_ARGS__))
#define ts_stuck_log(...) (TS_HERE, ts_stuck_log(__VA_ARGS__))
#define ts_target_call(...) (TS_HERE, ts_target_call(__VA_ARGS__))
#define ts_target_result(...) (TS_HERE, ts_target_result(__VA_ARGS__))
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
#define ts_reader_expect(...) (TS_HERE, ts_reader_expect(__VA_ARGS__))
#define ts_join(...) (TS_HERE, ts_join(__VA_ARGS__))
#define ts_process(...) (TS_HERE, ts_process(__VA_ARGS__))
#endif

#endif
