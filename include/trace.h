/* SPDX-License-Identifier: MIT */
/*
 * <trace.h>: the Trace option of POSIX.1-2008/2017 (Issue 7), XSH 2.11, with Trace Event Filter,
 * Trace Log and Trace Inherit. The page of a function in the standard has the name of the
 * function, unless its comment names another page. Additions to the standard are in
 * <posixtrace.h>, <posixtrace-control.h> and <posixtrace-log.h>, except for the member posix_tid
 * below.
 *
 * These rules hold for every function below, unless its comment says otherwise:
 *
 *   result      0, or a positive error number; errno is not part of the result.
 *   on error    objects to which result pointers point are unchanged.
 *   arguments   a null pointer where an object is needed gives EINVAL, never a crash. The stream
 *               identifier is checked first, then the other arguments, then the state of the
 *               stream.
 *   ownership   the caller owns every object that it passes; the library keeps no pointer to it
 *               after the call.
 *   EINTR       only posix_trace_getnext_event() and posix_trace_timedgetnext_event() return
 *               it; a signal delays any other call.
 *   threads     every function may be called from any thread at any time. Only threads that use
 *               the same attributes object or event set at the same time must lock it.
 *   signals     posix_trace_event() is async-signal-safe, no other function is.
 *   cancelling  only posix_trace_getnext_event() and posix_trace_timedgetnext_event() act on a
 *               cancellation request, and only while they wait.
 *   identifier  a trace_id_t is valid only in the process that got it, not in its children and
 *               not after exec. It is never 0 and never reused in a process, so that an outdated
 *               identifier gives EINVAL.
 *   sizes       bytes.          times       CLOCK_REALTIME.
 *
 * Terms: posix_trace_create() makes a stream without a log, posix_trace_create_withlog() a stream
 * with a log; both are active streams. posix_trace_open() opens a log as a pre-recorded stream. An
 * event that the stream does not keep is lost, unless a filter excludes it or the stream was
 * suspended for another reason than being full.
 */
#ifndef _TRACE_H
#define _TRACE_H 1

#include <stddef.h>
#include <sys/types.h>
#include <time.h>
/* <bits/posix_opt.h> defines the option constants of the C library, such as _POSIX_TRACE.
 * <unistd.h> includes it, but declares many other names. */
#if defined __has_include
#if __has_include(<bits/posix_opt.h>)
#define __trace_has_options 1
#endif
#endif
#ifdef __trace_has_options
#include <bits/posix_opt.h>
#undef __trace_has_options
#else
#include <unistd.h>
#endif
/*
 * In strictly conforming C99 without feature macros, <sys/types.h> and <time.h> do not define
 * pthread_t and struct timespec. <pthread.h> always defines both.
 */
#include <pthread.h>

/*
 * The C library does not have these options and defines the constants as -1. Programs test the
 * constants, so this header redefines them. sysconf(_SC_TRACE) and the like still return -1.
 */
#undef _POSIX_TRACE
#define _POSIX_TRACE 200809L
#undef _POSIX_TRACE_EVENT_FILTER
#define _POSIX_TRACE_EVENT_FILTER 200809L
#undef _POSIX_TRACE_INHERIT
#define _POSIX_TRACE_INHERIT 200809L
#undef _POSIX_TRACE_LOG
#define _POSIX_TRACE_LOG 200809L

#ifdef __cplusplus
#define __trace_restrict
extern "C" {
#elif defined __STDC_VERSION__ && __STDC_VERSION__ >= 199901L
#define __trace_restrict restrict
#else
#define __trace_restrict
#endif

/*
 * Limits. The C library defines none of them in <limits.h>, where the standard has them, so this
 * header defines them. TRACE_EVENT_NAME_MAX is the greatest length of an event name, so a buffer
 * needs one byte more. TRACE_NAME_MAX is the size of a buffer for a trace name or a generation
 * version, including the null byte. TRACE_SYS_MAX is the greatest number of active streams of one
 * effective user ID. TRACE_USER_EVENT_MAX is the greatest number of user event types of one
 * process, including POSIX_TRACE_UNNAMED_USEREVENT.
 */
#ifndef _POSIX_TRACE_EVENT_NAME_MAX
#define _POSIX_TRACE_EVENT_NAME_MAX 30
#endif
#ifndef _POSIX_TRACE_NAME_MAX
#define _POSIX_TRACE_NAME_MAX 8
#endif
#ifndef _POSIX_TRACE_SYS_MAX
#define _POSIX_TRACE_SYS_MAX 8
#endif
#ifndef _POSIX_TRACE_USER_EVENT_MAX
#define _POSIX_TRACE_USER_EVENT_MAX 32
#endif
#ifndef TRACE_EVENT_NAME_MAX
#define TRACE_EVENT_NAME_MAX 255
#endif
#ifndef TRACE_NAME_MAX
#define TRACE_NAME_MAX 255
#endif
#ifndef TRACE_SYS_MAX
#define TRACE_SYS_MAX 64
#endif
#ifndef TRACE_USER_EVENT_MAX
#define TRACE_USER_EVENT_MAX 8183
#endif

/* Identifies a stream or an opened log in the calling process. */
typedef unsigned long trace_id_t;

/* Identifies an event type in a stream, in the stream's log, and in the processes that the stream
 * traces. 0 is never valid; a set can contain the identifiers 1 to 8191. */
typedef unsigned int trace_event_id_t;

/* The attributes of a stream. The object owns no memory, so it can be copied by assignment.
 * posix_trace_attr_init() initialises an object; zeroed memory is not an initialised object. */
typedef struct {
	unsigned long __posix_trace_opaque[96];
} trace_attr_t;

/* A set of event types. It has no pointers, so a copy of its bytes is an equal set: in memory, in
 * the data of an event or in a log. posix_trace_eventset_empty() and _fill() initialise a set;
 * zeroed memory is not an initialised set. */
typedef struct {
	unsigned long __posix_trace_magic;
	unsigned long __posix_trace_bits[128];
} trace_event_set_t;

/* The information about an event, without its data, that the retrieval functions store. */
struct posix_trace_event_info {
	trace_event_id_t posix_event_id;
	/* The process that generated the event. For a system event, the process that made the
	 * call, or 0 if no call caused it. */
	pid_t posix_pid;
	/* The address to which the call that generated the event returns, in that process; a null
	 * pointer if no call of that process generated it. */
	void *posix_prog_address;
	/* POSIX_TRACE_NOT_TRUNCATED, _TRUNCATED_RECORD or _TRUNCATED_READ. */
	int posix_truncation_status;
	/* Not in the standard: the ID of the thread that generated the event, as gettid() returns
	 * it in that thread; 0 if no thread of the process has generated the event. */
	pid_t posix_tid;
	struct timespec posix_timestamp;
	/* The thread that generated the event. Only pthread_equal() in the process posix_pid can
	 * use it. */
	pthread_t posix_thread_id;
};

/* The comment of posix_trace_get_status() explains the members. */
struct posix_trace_status_info {
	int posix_stream_status;
	int posix_stream_full_status;
	int posix_stream_overrun_status;
	int posix_stream_flush_status;
	int posix_stream_flush_error;
	int posix_log_overrun_status;
	int posix_log_full_status;
};

/* posix_stream_status */
#define POSIX_TRACE_RUNNING 1
#define POSIX_TRACE_SUSPENDED 2

/* posix_stream_full_status, posix_log_full_status */
#define POSIX_TRACE_NOT_FULL 0
#define POSIX_TRACE_FULL 1

/* posix_stream_overrun_status, posix_log_overrun_status */
#define POSIX_TRACE_NO_OVERRUN 0
#define POSIX_TRACE_OVERRUN 1

/* posix_stream_flush_status */
#define POSIX_TRACE_NOT_FLUSHING 0
#define POSIX_TRACE_FLUSHING 1

/* posix_truncation_status. NOT_TRUNCATED: the data is complete. TRUNCATED_RECORD: the data was
 * truncated to max-data-size when it was recorded. TRUNCATED_READ: the buffer of the reader was
 * too small; the data may have been truncated before, too. */
#define POSIX_TRACE_NOT_TRUNCATED 0
#define POSIX_TRACE_TRUNCATED_RECORD 1
#define POSIX_TRACE_TRUNCATED_READ 2

/* Stream-full and log-full policies; FLUSH is for streams only, APPEND for logs only. */
#define POSIX_TRACE_LOOP 1
#define POSIX_TRACE_UNTIL_FULL 2
#define POSIX_TRACE_FLUSH 3
#define POSIX_TRACE_APPEND 4

/* Inheritance policies */
#define POSIX_TRACE_CLOSE_FOR_CHILD 0
#define POSIX_TRACE_INHERITED 1

/* Arguments of posix_trace_eventset_fill() */
#define POSIX_TRACE_WOPID_EVENTS 1
#define POSIX_TRACE_SYSTEM_EVENTS 2
#define POSIX_TRACE_ALL_EVENTS 3

/* Arguments of posix_trace_set_filter() */
#define POSIX_TRACE_SET_EVENTSET 1
#define POSIX_TRACE_ADD_EVENTSET 2
#define POSIX_TRACE_SUB_EVENTSET 3

/*
 * System events, of type trace_event_id_t, and their data. Their names are posix_trace_start,
 * posix_trace_stop and so on.
 *
 *   START        one trace_event_set_t: the filter in force
 *   STOP         one int, why: 0 posix_trace_stop() was called, 1 stream full, 2 log full
 *   FILTER       two trace_event_set_t: the old filter, then the new filter
 *   OVERFLOW     none; its time is that of the first lost event
 *   RESUME       none; its time is that of the first event after the lost events
 *   FLUSH_START, FLUSH_STOP      none
 *   ERROR        one int, an error number: damaged stream memory was found and skipped
 */
#define POSIX_TRACE_START 1U
#define POSIX_TRACE_STOP 2U
#define POSIX_TRACE_FILTER 3U
#define POSIX_TRACE_OVERFLOW 4U
#define POSIX_TRACE_RESUME 5U
#define POSIX_TRACE_FLUSH_START 6U
#define POSIX_TRACE_FLUSH_STOP 7U
#define POSIX_TRACE_ERROR 8U

/* The user event that needs no posix_trace_eventid_open(), named posix_trace_unnamed_userevent.
 * The standard spells the constant in both ways. */
#define POSIX_TRACE_UNNAMED_USEREVENT 9U
#define POSIX_TRACE_UNNAMED_USER_EVENT POSIX_TRACE_UNNAMED_USEREVENT

/*
 * Attributes: creation and information
 *
 * Every function on attributes returns EINVAL for a null pointer and, except
 * posix_trace_attr_init(), for an object that was never initialised or was destroyed. A setter
 * that fails changes nothing. A stream gets a copy of the object when it is created: changing or
 * destroying the object later does not affect the stream.
 */

/*
 * Initialises an attributes object with the defaults. Generation version and clock resolution have
 * their real values at once; the creation time is {0, 0} until posix_trace_get_attr() fills the
 * object from a stream. ENOMEM does not occur, because the object owns no memory.
 */
int posix_trace_attr_init(trace_attr_t *);

/* Destroys the object. It may be initialised again. */
int posix_trace_attr_destroy(trace_attr_t *);

/* Stores the resolution of CLOCK_REALTIME, the clock of the events' times. */
int posix_trace_attr_getclockres(const trace_attr_t *, struct timespec *);

/*
 * Stores the creation time of the stream; {0, 0} if the object does not come from a stream.
 * Start, stop and clear do not change this time. The creation time of a log is that of its
 * stream.
 */
int posix_trace_attr_getcreatetime(const trace_attr_t *, struct timespec *);

/*
 * Stores name and version of the implementation, null-terminated, in a buffer of TRACE_NAME_MAX
 * bytes. In the attributes of a log they are those of the library that wrote the log.
 */
int posix_trace_attr_getgenversion(const trace_attr_t *, char *);

/* Stores the trace name, null-terminated, in a buffer of TRACE_NAME_MAX bytes. */
int posix_trace_attr_getname(const trace_attr_t *, char *);

/*
 * Sets the trace name (default: empty) to a copy of the string, cut without error to
 * TRACE_NAME_MAX - 1 bytes. Several streams may have the same name.
 */
int posix_trace_attr_setname(trace_attr_t *, const char *);

/* Attributes: policies */

/*
 * inherited: whether processes that a traced process forks or spawns are traced into the same
 * stream. POSIX_TRACE_INHERITED or POSIX_TRACE_CLOSE_FOR_CHILD, the default.
 */
int posix_trace_attr_getinherited(const trace_attr_t *__trace_restrict, int *__trace_restrict);

/*
 * log-full-policy: what happens when the log is full. POSIX_TRACE_LOOP (default): new events
 * replace the oldest ones. POSIX_TRACE_UNTIL_FULL: the log ends with a STOP event, and the stream
 * cannot start again before posix_trace_clear(). POSIX_TRACE_APPEND: the log has no limit.
 */
int posix_trace_attr_getlogfullpolicy(const trace_attr_t *__trace_restrict, int *__trace_restrict);

/*
 * stream-full-policy: what happens when the stream is full. POSIX_TRACE_LOOP: new events replace
 * the oldest ones. POSIX_TRACE_UNTIL_FULL: the stream stops itself, records a STOP event, and
 * starts again when this event has been read or, if there is a log, flushed. POSIX_TRACE_FLUSH: as
 * with UNTIL_FULL, but the stream also flushes itself when it is half full, when it is full, and at
 * the latest a second after an event. FLUSH needs a log, so posix_trace_create() refuses it.
 *
 * If the policy was never set, posix_trace_create() takes LOOP, posix_trace_create_withlog()
 * takes FLUSH, and the getter stores LOOP.
 */
int posix_trace_attr_getstreamfullpolicy(const trace_attr_t *__trace_restrict,
					 int *__trace_restrict);

/*
 * The setters of the attributes inherited, log-full-policy and stream-full-policy.
 *   EINVAL  a policy other than those named above; see also "Attributes" above.
 * POSIX.1 pages: posix_trace_attr_getinherited, _getlogfullpolicy, _getstreamfullpolicy.
 */
int posix_trace_attr_setinherited(trace_attr_t *, int);
int posix_trace_attr_setlogfullpolicy(trace_attr_t *, int);
int posix_trace_attr_setstreamfullpolicy(trace_attr_t *, int);

/*
 * Attributes: sizes, all in bytes
 *
 * The setters accept any size_t; creating a stream fails if the size is impossible.
 */

/*
 * log-max-size: limit for the events in a LOOP or UNTIL_FULL log; header, names, attributes and
 * status are not included. Default 67108864. Ignored with POSIX_TRACE_APPEND.
 * posix_trace_create_withlog() fails with EINVAL if it is too small for one START and one STOP
 * event.
 */
int posix_trace_attr_getlogsize(const trace_attr_t *__trace_restrict, size_t *__trace_restrict);

/*
 * max-data-size: how many bytes of the data of a user event are recorded; the rest is cut off. This
 * size limits the caller's data only and does not affect system events. Default 4096; 0 is allowed.
 * POSIX.1 page: posix_trace_attr_getlogsize.
 */
int posix_trace_attr_getmaxdatasize(const trace_attr_t *__trace_restrict, size_t *__trace_restrict);

/* Stores the most stream memory that a system event takes. */
int posix_trace_attr_getmaxsystemeventsize(const trace_attr_t *__trace_restrict,
					   size_t *__trace_restrict);

/*
 * Stores the most stream memory that a user event takes; the second argument is the length of its
 * data. Only max-data-size bytes of the data are counted, because the rest is cut off.
 *   EINVAL  the result does not fit in size_t; see also "Attributes" above.
 */
int posix_trace_attr_getmaxusereventsize(const trace_attr_t *__trace_restrict, size_t,
					 size_t *__trace_restrict);

/*
 * stream-min-size: the stream keeps all events, without loss, as long as the sum of their maximum
 * sizes is at most this size. The sum includes user events, START, FILTER, and the STOP that
 * posix_trace_stop() records; for all other events room is reserved. The default is 1048576, or
 * four times the maximum size of a user event if that is more. A stream always has room for START,
 * the smallest user event and STOP.
 *
 * In an object from posix_trace_get_attr() this attribute is the size that is guaranteed; the
 * stream may hold more. If only one thread records, the stream is full after at most twice this
 * size plus 65536 bytes of data; if max-data-size is above 4096, five times max-data-size are
 * added.
 */
int posix_trace_attr_getstreamsize(const trace_attr_t *__trace_restrict, size_t *__trace_restrict);

/*
 * The setters of log-max-size, max-data-size and stream-min-size.
 * POSIX.1 page: posix_trace_attr_getlogsize.
 */
int posix_trace_attr_setlogsize(trace_attr_t *, size_t);
int posix_trace_attr_setmaxdatasize(trace_attr_t *, size_t);
int posix_trace_attr_setstreamsize(trace_attr_t *, size_t);

/* Streams: creation and end */

/*
 * Creates a stream that traces process pid (0: the caller). The stream is SUSPENDED and empty,
 * with an empty filter. Null attributes mean the defaults. The process need not use this library:
 * it is traced as soon as it does, for example after exec.
 *   EAGAIN  TRACE_SYS_MAX active streams of this effective user exist.
 *   EINVAL  attributes that were never initialised, or were destroyed; POSIX_TRACE_FLUSH; null
 *           pointer for the identifier.
 *   ENOMEM  no memory for the stream (all its memory is reserved now); no descriptors left.
 *   EPERM   the caller is neither root nor has the target's effective user ID, or the target is
 *           a set-user-ID program.
 *   ESRCH   no such process; also for a negative pid, a zombie, a thread's ID.
 */
int posix_trace_create(pid_t, const trace_attr_t *__trace_restrict, trace_id_t *__trace_restrict);

/*
 * Creates a stream with a log, in the file to which the descriptor refers. Otherwise it does the
 * same as posix_trace_create(). A regular file is emptied, and is possible with every log-full
 * policy; a FIFO, pipe, socket or character device is possible only with POSIX_TRACE_APPEND. The
 * descriptor need only be open for writing. The library works on a duplicate; the caller may
 * close the original at once, and must not read, write or seek in the file while the stream
 * exists.
 *   EAGAIN  as for posix_trace_create(); or a limit on processes allows no process that writes
 *           the log.
 *   ENOMEM, EPERM, ESRCH  as for posix_trace_create().
 *   EBADF   the descriptor is not open, or not for writing.
 *   EINVAL  as for posix_trace_create(), except that POSIX_TRACE_FLUSH is allowed; the type of
 *           the file does not allow the log-full policy; log-max-size cannot hold a START and a
 *           STOP event.
 *   ENOSPC  the device cannot take the new log.
 *   others  the error number of a failed write of the log's header.
 * POSIX.1 page: posix_trace_create.
 */
int posix_trace_create_withlog(pid_t, const trace_attr_t *__trace_restrict, int,
			       trace_id_t *__trace_restrict);

/*
 * Writes the events in the stream to its log and frees their room; returns when that is done.
 * Recording, reading and the calls of start, stop, set_filter and get_status continue during the
 * flush. Calls of flush, clear and shutdown in other threads wait until the flush is done, even if
 * a pipe or device takes long. Events that could not be written stay in the stream for the next
 * flush.
 *   EAGAIN, ENOMEM  as for posix_trace_clear(); nothing was flushed.
 *   EFBIG   the log would exceed a file size limit (RLIMIT_FSIZE too; no SIGXFSZ is sent).
 *   EINVAL  not an active stream with log.
 *   ENOSPC  the device is full.
 *   ESTALE  another program has truncated the log or written over its end, so the log lacks
 *           events. The events in the stream are written all the same.
 *   others  the error number of the failed write; for EPIPE, no SIGPIPE is sent.
 * POSIX.1 page: posix_trace_create.
 */
int posix_trace_flush(trace_id_t);

/*
 * Stops the stream, flushes and closes its log if it has one, and frees everything. If the stream
 * has no log, events that were not read are gone. Threads that wait for an event get EINVAL. The
 * identifier is invalid from then on, even if the flush failed. A stream is also stopped, flushed
 * and closed when the process that created it ends in any way, or executes a program.
 *   EAGAIN, ENOMEM  as for posix_trace_clear(); the log is left unfinished. It is finished when
 *                   this user next creates a stream, or by ptrace-salvage(1).
 *   EFBIG, ENOSPC, ESTALE, others  as for posix_trace_flush(); the stream is gone nevertheless.
 *   EINVAL  not an active stream, with or without log.
 * POSIX.1 page: posix_trace_create.
 */
int posix_trace_shutdown(trace_id_t);

/*
 * Resets the stream and its log to their state after creation: no events, NOT_FULL, no overrun, an
 * empty filter, and the position in the event type list at its start. The stream keeps its status
 * (running or suspended), names, attributes and creation time. The call itself is not recorded as
 * an event. A stream that had stopped itself is empty after the call and stays suspended until
 * posix_trace_start(). Events that were written to a device, pipe or socket stay there. Events that
 * are generated during the call are either recorded after the clear or discarded.
 *   EAGAIN  the process that writes the log was killed, and a limit on processes allows no other
 *           one; nothing was cleared.
 *   EINVAL  not an active stream.
 *   ENOMEM  the process that writes the log was killed, and memory or descriptors to start
 *           another one are lacking; nothing was cleared.
 *   others  the error number of a failed write of the log's header; the stream was cleared.
 */
int posix_trace_clear(trace_id_t);

/*
 * Sets the stream RUNNING and records START. Does nothing if the stream is running already. If the
 * stream has stopped itself because it was full, the call only allows its automatic restart again,
 * which posix_trace_stop() may have cancelled. If its UNTIL_FULL log is full, the stream stays
 * suspended. After the call has started the stream, every event that a traced process generates and
 * that is not filtered is recorded.
 *   EINVAL  not an active stream.
 */
int posix_trace_start(trace_id_t);

/*
 * Sets the stream SUSPENDED and records STOP, for which there always is room. If the stream is
 * suspended already, the call only cancels a pending automatic restart. Events that are generated
 * after the call has returned are neither recorded nor counted as lost. The call waits for calls
 * of posix_trace_event() under way, at most 100 ms for each, so that all events can be read when
 * it returns.
 *   EINVAL  not an active stream.
 * POSIX.1 page: posix_trace_start.
 */
int posix_trace_stop(trace_id_t);

/*
 * Initialises an attributes object with the attributes of an active stream, including the
 * policies and sizes in force, or with the attributes that are stored in a log.
 *   EINVAL  neither an active stream nor an open log; null pointer.
 */
int posix_trace_get_attr(trace_id_t, trace_attr_t *);

/*
 * Stores the status. In the same atomic step it resets, in an active stream, both overrun statuses
 * to NO_OVERRUN and the flush error to 0; the status of a log never changes.
 *
 *   stream status   RUNNING: accepting events. SUSPENDED: not started, or stopped.
 *   full            if RUNNING: newer events overwrite older ones (LOOP only). If SUSPENDED:
 *                   the stream stopped because it was full, until the automatic restart or a
 *                   clear; or its UNTIL_FULL log became full, until a clear.
 *   overrun         events were lost since the last call of this function.
 *   flush status    a flush is in progress.
 *   flush error     0, or the first error number of a flush since the last call.
 *   log overrun     events were lost in the log since the last call.
 *   log full        a LOOP or UNTIL_FULL log has no room left; with APPEND never.
 *
 * A log reports all losses since it was created or cleared. A log that was never closed reports
 * RUNNING, OVERRUN for stream and log, and EOWNERDEAD as flush error.
 *   EINVAL  neither an active stream nor an open log; null pointer.
 * POSIX.1 page: posix_trace_get_attr.
 */
int posix_trace_get_status(trace_id_t, struct posix_trace_status_info *);

/* Events and event types */

/*
 * Records an event of the given type, with a copy of the data, in every running stream that
 * traces the caller and does not filter the type. It is async-signal-safe, even in a handler that
 * has interrupted this function, and such a handler may leave this function by siglongjmp(). It
 * never fails: the status of a stream reports lost events. It never waits, except for room in a
 * stream with a full-wait (see <posixtrace-control.h>). It preserves errno.
 *
 * Each stream truncates the data to its own max-data-size. With a null pointer the event has no
 * data. The call is ignored if the process has not opened the type, or if the type is that of a
 * system event. The address of the event is the return address of the call.
 */
void posix_trace_event(trace_event_id_t, const void *__trace_restrict, size_t);

/*
 * Stores the identifier of the event type with this name in the calling process; a new name gets
 * a new identifier. Names are compared byte by byte, and a name may be empty. The name of a
 * system event gives the identifier of that event. If the process has TRACE_USER_EVENT_MAX types,
 * a new name gives POSIX_TRACE_UNNAMED_USEREVENT, and the result is 0; posixtrace_get_counts()
 * counts such names.
 *   EINVAL        null pointer.
 *   ENAMETOOLONG  more than TRACE_EVENT_NAME_MAX bytes without the null.
 *   ENOMEM        there is no memory for a new name, or no descriptor with which to get memory.
 * POSIX.1 page: posix_trace_event.
 */
int posix_trace_eventid_open(const char *__trace_restrict, trace_event_id_t *__trace_restrict);

/*
 * Does not return an error number. Returns non-zero if both identifiers are those of the same
 * event type, else 0. The stream identifier makes no difference.
 */
int posix_trace_eventid_equal(trace_id_t, trace_event_id_t, trace_event_id_t);

/*
 * Stores the name of an event type, null-terminated, in a buffer of TRACE_EVENT_NAME_MAX + 1
 * bytes.
 *   EINVAL  neither an active stream nor an open log; no such event type; null pointer.
 * POSIX.1 page: posix_trace_eventid_equal.
 */
int posix_trace_eventid_get_name(trace_id_t, trace_event_id_t, char *);

/*
 * Opens an event type, as posix_trace_eventid_open() does, for the processes that the stream
 * traces. They get the same identifier when they open the name.
 *   EINVAL        not an active stream; null pointer.
 *   ENAMETOOLONG  more than TRACE_EVENT_NAME_MAX bytes without the null.
 *   ENOMEM        as for posix_trace_eventid_open().
 * POSIX.1 page: posix_trace_eventid_equal.
 */
int posix_trace_trid_eventid_open(trace_id_t, const char *__trace_restrict,
				  trace_event_id_t *__trace_restrict);

/*
 * Stores the next event type of the stream, and 0 in *unavailable. If there are no more event
 * types, only stores non-zero in *unavailable. If another name is opened after that, the next
 * call stores its type; no rewind is needed. Predefined types come first, then user event types
 * in the order in which their names were opened.
 *   EINVAL  neither an active stream nor an open log; null pointer.
 */
int posix_trace_eventtypelist_getnext_id(trace_id_t, trace_event_id_t *__trace_restrict,
					 int *__trace_restrict);

/*
 * Returns to the first event type. Each stream identifier has a position of its own.
 *   EINVAL  neither an active stream nor an open log.
 * POSIX.1 page: posix_trace_eventtypelist_getnext_id.
 */
int posix_trace_eventtypelist_rewind(trace_id_t);

/*
 * Event sets and filters
 *
 * The functions on event sets return EINVAL, and change nothing, for a null pointer, an
 * identifier outside 1 to 8191, an unknown constant and, except for empty and fill, an
 * uninitialised set. The calling process need not have opened the event types.
 */

/* Adds an event type. It is no error if the set contains the type already. */
int posix_trace_eventset_add(trace_event_id_t, trace_event_set_t *);

/* Removes an event type. It is no error if the set does not contain the type. POSIX.1
 * page: posix_trace_eventset_add. */
int posix_trace_eventset_del(trace_event_id_t, trace_event_set_t *);

/* Initialises an empty set. POSIX.1 page: posix_trace_eventset_add. */
int posix_trace_eventset_empty(trace_event_set_t *);

/*
 * Initialises a set. With POSIX_TRACE_ALL_EVENTS, it contains every system and user event type,
 * including those that are opened later. With POSIX_TRACE_SYSTEM_EVENTS, it contains the eight
 * system event types. With POSIX_TRACE_WOPID_EVENTS, it is empty, because every system event of
 * this implementation depends on a process.
 * POSIX.1 page: posix_trace_eventset_add.
 */
int posix_trace_eventset_fill(trace_event_set_t *, int);

/* Stores non-zero if the event type is in the set, else 0. POSIX.1
 * page: posix_trace_eventset_add. */
int posix_trace_eventset_ismember(trace_event_id_t, const trace_event_set_t *__trace_restrict,
				  int *__trace_restrict);

/*
 * Stores a copy of the filter: the set of event types that are not recorded.
 *   EINVAL  not an active stream; null pointer.
 */
int posix_trace_get_filter(trace_id_t, trace_event_set_t *);

/*
 * Sets the filter to the set (POSIX_TRACE_SET_EVENTSET), adds the set to it (_ADD_EVENTSET) or
 * subtracts the set from it (_SUB_EVENTSET). All traced processes obey the new filter when the
 * call returns. A running stream records a FILTER event, even if nothing has changed, unless both
 * the old and the new filter contain FILTER itself. A suspended stream reports the filter in its
 * next START. If a system event is filtered, it is not recorded, but what it reports still
 * happens. In addition to the filter, patterns of names may select events; see
 * posixtrace_set_patterns() in <posixtrace-control.h>.
 *   EINVAL  not an active stream; unknown operation; null pointer, or an uninitialised set.
 * POSIX.1 page: posix_trace_get_filter.
 */
int posix_trace_set_filter(trace_id_t, const trace_event_set_t *, int);

/*
 * Retrieval of events
 *
 * The arguments are (trid, event, data, num_bytes, data_len, unavailable), as in the standard.
 * Each function reports the oldest event that was not reported yet: it stores the information in
 * *event, up to num_bytes bytes of data in *data, the number of these bytes in *data_len, and 0
 * in *unavailable. The data pointer may be null if num_bytes is 0. Timestamps do not go back,
 * with one exception: an event may be reported late if its thread was stopped or killed while it
 * recorded the event.
 *
 * An active stream reports each event once, to whichever thread asks first. In a stream without a
 * log, reading an event frees its room. In a stream with a log, reading frees no room, and events
 * that were flushed before they were read are not reported. If no event is reported, with or
 * without an error, *unavailable is non-zero, *data_len is 0, and *event and the data buffer are
 * unchanged.
 *   EINVAL  neither an active stream nor an open log; null pointer.
 */

/*
 * Reports the next event. If an active stream has no event, it waits for one, even if the stream
 * is suspended or its processes have ended. For a pre-recorded stream it never waits: at the end
 * of the log, *unavailable is non-zero and the result 0. It is a cancellation point while it
 * waits.
 *   EINTR   a handler installed without SA_RESTART interrupted the wait.
 *   EINVAL  as listed under "Retrieval of events"; or the stream was shut down meanwhile.
 */
int posix_trace_getnext_event(trace_id_t, struct posix_trace_event_info *__trace_restrict,
			      void *__trace_restrict, size_t, size_t *__trace_restrict,
			      int *__trace_restrict);

/*
 * Like posix_trace_getnext_event(), but waits only until an absolute time. The time matters only
 * if there is no event; for a pre-recorded stream it is ignored. The function is a cancellation
 * point while it waits.
 *   EINTR      a handler interrupted the wait, with SA_RESTART or without.
 *   EINVAL     as for posix_trace_getnext_event(); or there is no event, and tv_nsec is not in
 *              0 to 999999999 or the pointer is null.
 *   ETIMEDOUT  there is no event, and the time is over.
 * POSIX.1 page: posix_trace_getnext_event.
 */
int posix_trace_timedgetnext_event(trace_id_t, struct posix_trace_event_info *__trace_restrict,
				   void *__trace_restrict, size_t, size_t *__trace_restrict,
				   int *__trace_restrict, const struct timespec *__trace_restrict);

/*
 * Like posix_trace_getnext_event(), but does not wait: if there is no event, *unavailable is
 * non-zero and the result 0. But if an event that is still being recorded may be older than all
 * other events in the stream, the function waits at most 100 ms for this event, and then
 * continues without it.
 *   EINVAL  as for posix_trace_getnext_event(); a pre-recorded stream.
 * POSIX.1 page: posix_trace_getnext_event.
 */
int posix_trace_trygetnext_event(trace_id_t, struct posix_trace_event_info *__trace_restrict,
				 void *__trace_restrict, size_t, size_t *__trace_restrict,
				 int *__trace_restrict);

/* Logs */

/*
 * Opens a log for reading, at its oldest event. The descriptor must be open for reading, and the
 * file seekable; the offset is neither used nor changed. The library works on a duplicate, so the
 * caller keeps the descriptor and may close it. If the stream of the log is still active, the log
 * has the events that were flushed. If the log is damaged, the damaged parts are skipped.
 *   EINVAL  not a log, or of another ABI or format version; descriptor closed, not readable or
 *           not seekable; null pointer.
 *   ENOMEM  no memory or descriptors left.
 * POSIX.1 page: posix_trace_close.
 */
int posix_trace_open(int, trace_id_t *);

/*
 * Closes a log; the identifier is invalid from then on.
 *   EINVAL  not an open log; an active stream is not changed.
 */
int posix_trace_close(trace_id_t);

/*
 * Returns to the oldest event of a log.
 *   EINVAL  not an open log; an active stream is not changed.
 * POSIX.1 page: posix_trace_close.
 */
int posix_trace_rewind(trace_id_t);

#ifdef __cplusplus
}
#endif

#endif
