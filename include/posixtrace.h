/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace.h>: what this implementation adds to <trace.h>; none of it is in the standard.
 * The rules of that header hold here, too: a function returns 0 or an error number, writes
 * nothing on error, may be called from any thread, and is neither async-signal-safe nor a
 * cancellation point.
 *
 * A function that fills in a structure with a pt_size gets from the caller the size that the
 * caller knows, as a later version may add members at the end.
 */
#ifndef POSIXTRACE_H
#define POSIXTRACE_H 1

#include <stddef.h>
#include <sys/types.h>
#include <trace.h>

/* The version of this header; posixtrace_version() returns that of the library. */
#define POSIXTRACE_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How many events were lost, of which posix_trace_get_status() only tells whether there are any,
 * and other numbers. They count since the stream was created or last cleared. Reading them
 * resets nothing.
 */
struct posixtrace_counts {
	/* The number of bytes of this structure that were filled in, at most the caller's size. */
	unsigned long pt_size;
	/* Events lost in the stream: overwritten before they were read (with a log: flushed),
	 * or not recorded because there was no room. */
	unsigned long pt_lost_events;
	/* Events lost in the log: overwritten there, discarded, or too large for it. */
	unsigned long pt_log_lost_events;
	/* Events in the log now, and their bytes. */
	unsigned long pt_log_events;
	unsigned long pt_log_bytes;
	/* Bytes of the events in the stream that are still to be read (with a log: flushed). */
	unsigned long pt_stream_bytes;
	/* Processes that have been traced into the stream. A process counts from its first
	 * event or from its fork; one that traces itself, from the creation of the stream. */
	unsigned long pt_processes;
	/* Threads that have recorded an event. If a signal handler records one while its thread
	 * records another, it counts as one more thread. */
	unsigned long pt_threads;
	/* Events in the log that reading has left out since it was opened or rewound: those
	 * between OVERFLOW and RESUME, because others around them were lost, and those of types
	 * that the filter held at their time. */
	unsigned long pt_gap_events;
	unsigned long pt_filtered_events;
	/* OVERFLOW and RESUME events that reading has made up since then, because of a gap. They
	 * are not among the events in the log. */
	unsigned long pt_made_up_events;
	/* What reading has skipped since then because the log is damaged: events as far as their
	 * number is known; places, each of which is told by an OVERFLOW and a RESUME; and those of
	 * these places with events whose number is not known. */
	unsigned long pt_damaged_events;
	unsigned long pt_damaged_gaps;
	unsigned long pt_uncounted_gaps;
};

/*
 * Fills in the first `size` bytes of *counts, where size is sizeof(struct posixtrace_counts).
 * Members without meaning are 0: those of the log for a plain stream; those of stream memory,
 * processes and threads for a pre-recorded one; those from pt_gap_events on for an active one. The members are
 * read one after the other while recording goes on, so they may be some events apart.
 *   EINVAL  neither an active stream nor an open log; null pointer; size below that of the
 *           first member.
 */
int posixtrace_get_counts(trace_id_t, struct posixtrace_counts *, size_t);

/* The events of one type. */
struct posixtrace_type_count {
	unsigned long pt_events;
	/* The bytes of their data as recorded. */
	unsigned long pt_bytes;
	/* How many had their data cut to max-data-size. */
	unsigned long pt_truncated;
	/* How many no reader has got yet, but one can still get. */
	unsigned long pt_unread;
};

/*
 * Fills in an array of `count` elements; element i is for the event type with identifier i, and
 * elements beyond the last possible type become 0. Events count since the stream was created or
 * last cleared: those that were read from a plain stream, those that were flushed (even if the
 * log has lost them since), and those that are in the stream now. Events that the stream lost do
 * not count. OVERFLOW, RESUME and the STOP of a full stream count when they are read or flushed,
 * because they are made only then. A flushed event is not unread: no reader of the stream can
 * get it any more.
 *
 * Counting takes time in proportion to the events in the stream, and resets nothing. While
 * events are flushed as fast as they are recorded, the numbers may be wrong by some events;
 * after the process that writes the log was killed, they may stay too small by some.
 *   EINVAL  not an active stream; null pointer and count not 0.
 */
int posixtrace_get_type_counts(trace_id_t, struct posixtrace_type_count *, size_t);

/* The generation version in the attributes of this library's streams, such as "posixtrace
 * 0.1.0". A static string. */
const char *posixtrace_version(void);

/*
 * Maps everything that recording needs: the process page, the event names, and every stream
 * that traces this process. Without this call the first event after a stream's creation does
 * so, by a few system calls. A process may call this any number of times, even if it is not
 * traced.
 *   ENOMEM  a stream could not be mapped; events go into the others, and the next event tries
 *           again.
 *   EPERM   the directory of the shared objects is not safe to use; this process cannot be
 *           traced.
 */
int posixtrace_attach(void);

/*
 * posixtrace_event_for(pid, event_name, data, data_len, streams) records an event on behalf of
 * a process (0: the caller) into every stream that traces the process, and stores how many
 * streams have recorded it: 0 if none traces the process, or all filter the event or are
 * suspended.
 *
 * The process need not have the library: it may be a shell script. Its nearest traced ancestor
 * then decides: those INHERITED streams of the ancestor trace it that are older than the process,
 * just as they would trace a program with the library in its place.
 *
 * posix_pid of the event is pid, but posix_tid, posix_thread_id and posix_prog_address are 0,
 * as no thread of that process has made the call. A new name is registered for the process.
 * Data beyond max-data-size is cut. The call may take some 100 us; it takes no lock for which a
 * traced process ever waits.
 *   EINVAL        null pointer; the name of a system event.
 *   ENAMETOOLONG  the name has more than TRACE_EVENT_NAME_MAX bytes.
 *   ESRCH         the process does not exist.
 *   EPERM         the caller may not trace the process (see posix_trace_create); the process is
 *                 in another pid namespace; an object in shared memory is not safe to use.
 *   ENOMEM        a stream could not be mapped; the event is in the others.
 */
int posixtrace_event_for(pid_t, const char *, const void *, size_t, unsigned int *);

/*
 * The following functions look at another process, or at this user's shared objects, from
 * outside, to find out why nothing is recorded; ptrace-doctor uses them. They make and change
 * nothing. What they found may have changed when they return. The size is passed as for
 * posixtrace_get_counts().
 */
struct posixtrace_process {
	unsigned long pt_size;
	/* The effective user of the process, in whose directory its shared objects are. */
	uid_t pt_user;
	/* Its pid in its own pid namespace, and how many levels below the caller's pid namespace
	 * that is; 0: it is the same. */
	pid_t pt_inner_pid;
	unsigned int pt_depth;
	/* The process has a page, which it or a process that traces it has made. */
	int pt_has_page;
	/* The library has started in the program that the process runs now. */
	int pt_has_library;
	/* The streams that trace the process, and the event names that it, or the processes
	 * that share names with it by fork, have opened. */
	unsigned int pt_streams;
	unsigned int pt_events;
};

struct posixtrace_process_stream {
	unsigned long pt_size;
	/* The error number with which the process failed to map the stream, or 0. */
	int pt_error;
	/* The process that controls the stream and, if there is a log, the process that writes
	 * it; then whether each of them is alive. */
	pid_t pt_controller;
	pid_t pt_keeper;
	int pt_is_controlled;
	int pt_is_kept;
	/* The process that the stream was created for; others may have joined by fork. */
	pid_t pt_target;
	int pt_has_log;
	int pt_full_policy;
	unsigned long pt_lost_events;
	/* What posix_trace_get_status() tells. Nothing is reset. */
	struct posix_trace_status_info pt_status;
	trace_event_set_t pt_filter;
	char pt_name[TRACE_NAME_MAX];
	/* The path of the log; empty if there is none, or it was not known. */
	char pt_log[4096];
};

struct posixtrace_system {
	unsigned long pt_size;
	/* 0, or why the user's directory of shared objects cannot be used. ENOENT: it has not
	 * been made yet, which is no fault. EPERM: it is not safe. ENOMEM: a limit is reached. */
	int pt_directory_error;
	/* The active streams of the user, TRACE_SYS_MAX at most. */
	unsigned int pt_streams;
	/* The processor's counter can be used as a clock, and membarrier(2) is available.
	 * Without one of them the library uses a slower way. */
	int pt_has_counter;
	int pt_has_barrier;
};

/*
 * Fills in what is known of a process (0: the caller).
 *   EINVAL  null pointer, or size below that of the first member.
 *   ESRCH   no such process.
 *   EPERM   it is another user's, or its shared objects are not safe to use.
 *   ENOMEM  no memory or no descriptor.
 */
int posixtrace_get_process(pid_t, struct posixtrace_process *, size_t);

/*
 * Tell of one of the streams that trace the process, or identifier and name of one of its event
 * types. Streams and event types are numbered from 0 on. The buffer for the name has
 * TRACE_EVENT_NAME_MAX + 1 bytes. pt_streams may still count a stream that has just ended, for
 * which the result is ENOENT.
 *   ENOENT  no such number.
 *   others  as posixtrace_get_process().
 */
int posixtrace_get_process_stream(pid_t, unsigned int number, struct posixtrace_process_stream *,
				  size_t);
int posixtrace_get_process_event(pid_t, unsigned int number, trace_event_id_t *, char *event_name);

/*
 * Fills in what is known of this user's shared objects and of the machine.
 *   EINVAL  as posixtrace_get_process().
 */
int posixtrace_get_system(struct posixtrace_system *, size_t);

#ifdef __cplusplus
}
#endif

#endif
