/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace.h>: what this implementation adds to <trace.h>. The general rules of that
 * header hold here too: 0 or an error number, nothing written on error, thread-safe, not
 * async-signal-safe, never a cancellation point.
 */
#ifndef POSIXTRACE_H
#define POSIXTRACE_H 1

#include <stddef.h>
#include <trace.h>

/* Version of this header; posixtrace_version() tells that of the library. */
#define POSIXTRACE_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Numbers behind the yes and no of posix_trace_get_status(). All count since the stream
 * was created or last cleared; reading them resets nothing, here or there. A member added
 * by a later version comes at the end.
 */
struct posixtrace_counts {
	/* Bytes of this structure that were filled in: at most what the caller said it
	 * has. */
	unsigned long pt_size;
	/* Events lost in the stream: overwritten before they were read (or flushed, if
	 * there is a log), or without room. */
	unsigned long pt_lost_events;
	/* Events lost in the log: overwritten there, discarded or too big. */
	unsigned long pt_log_lost_events;
	/* Events and their bytes in the log now; of a pre-recorded stream, in the log. */
	unsigned long pt_log_events;
	unsigned long pt_log_bytes;
	/* Bytes of events in the stream that are still to be read (or flushed). */
	unsigned long pt_stream_bytes;
	/* Processes that have been traced into the stream, and threads (nesting levels of
	 * signal handlers count as threads) that have had a part of its memory to themselves; from
	 * their first event on. */
	unsigned long pt_processes;
	unsigned long pt_threads;
};

/*
 * Fills in the first size bytes of *counts; size is sizeof(struct posixtrace_counts) as
 * the caller knows it. Members that do not apply are 0: those of the log for a plain
 * stream, those of stream memory, processes and threads for a pre-recorded one. The
 * members are read one after the other while recording goes on, so they may be some
 * events apart.
 *   EINVAL  neither an active stream nor an open log; null pointer; size below that of
 *           the first member.
 */
int posixtrace_get_counts(trace_id_t, struct posixtrace_counts *, size_t);

/* Events of one type. */
struct posixtrace_type_count {
	unsigned long pt_events;
	unsigned long pt_bytes; /* of data, as recorded */
	unsigned long pt_truncated; /* events whose data was cut to max-data-size */
};

/*
 * Fills in count members of *counts, that of event type id at [id]; those beyond the last
 * type there can be are 0. Counted is what was recorded since the stream was created or last
 * cleared, and not lost in it: what was read (of a plain stream) or flushed, and what is in
 * the stream now. System events are counted as they are recorded; OVERFLOW, RESUME and the
 * STOP of a stream that stopped because it was full are made up later, and counted when they
 * are read or flushed. Events that the log lost are counted. Counting takes time in
 * proportion to what is in the stream, and resets nothing. While a keeper is flushing as fast
 * as others record, the sum may be some events off; after a keeper was killed it may stay
 * short of some.
 *   EINVAL  not an active stream; null pointer and count not 0.
 */
int posixtrace_get_type_counts(trace_id_t, struct posixtrace_type_count *, size_t);

/*
 * The generation version that every attributes object of this library has, such as
 * "posixtrace 0.1.0". A static string.
 */
const char *posixtrace_version(void);

/*
 * Maps, now, everything that recording needs: the process page, the event names, and
 * every stream that traces this process. Without it the first event after a stream has
 * appeared does that, with a few system calls. May be called any number of times. Not
 * being traced is no error.
 *   ENOMEM  a mapping failed; events go into the streams that could be mapped, and the
 *           next event tries again.
 *   EPERM   the directory of the shared objects is not safe to use; this process cannot
 *           be traced.
 */
int posixtrace_attach(void);

/*
 * Records an event on behalf of process pid (0: the caller) into every stream that traces
 * it, and stores in how many streams it is now: 0 if nothing traces the process, or no
 * stream wants the event. The process need not have the library: a shell script, say. Then,
 * as for a program with the library that it would start, the INHERITED streams of its nearest
 * traced ancestor that were there before it was born count as its own.
 * The event bears what is true of it: posix_pid is pid, but posix_tid, posix_thread_id and
 * posix_prog_address are 0, as no thread of that process has made the call. A name that the
 * process does not know yet is registered for it. Data beyond max-data-size is cut. May take
 * some 100 us; takes no lock that a traced process ever waits for.
 *   EINVAL        null pointer; the name of a system event.
 *   ENAMETOOLONG  the name has more than TRACE_EVENT_NAME_MAX bytes.
 *   ESRCH         there is no such process.
 *   EPERM         the caller may not trace it (see posix_trace_create); it lives in another
 *                 pid namespace; an object in shared memory is not safe to use.
 *   ENOMEM        a mapping failed; the event is in the streams that could be mapped.
 */
int posixtrace_event_for(pid_t, const char *, const void *, size_t, unsigned int *);

#ifdef __cplusplus
}
#endif

#endif
