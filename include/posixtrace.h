/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace.h>: what this implementation adds to <trace.h>. The general rules of that
 * header hold here too: 0 or an error number, nothing written on error, thread-safe, not
 * async-signal-safe, never a cancellation point.
 */
#ifndef POSIXTRACE_H
#define POSIXTRACE_H 1

#include <stddef.h>
#include <sys/types.h>
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
	/* Processes that have been traced into the stream: from their first event on, from
	 * their fork, or, who made it for itself, from then on. And threads (nesting levels of
	 * signal handlers count as threads) that have had a part of its memory to themselves,
	 * from their first event on. */
	unsigned long pt_processes;
	unsigned long pt_threads;
	/* Events in the log that are not reported, of those that were come by since it was
	 * opened or rewound: because of losses around them (they stand between OVERFLOW and
	 * RESUME), and because of the filter that was in force by then. */
	unsigned long pt_gap_events;
	unsigned long pt_filtered_events;
};

/*
 * Fills in the first size bytes of *counts; size is sizeof(struct posixtrace_counts) as
 * the caller knows it. Members that do not apply are 0: those of the log for a plain
 * stream, those of stream memory, processes and threads for a pre-recorded one, the last two
 * for any but that. The members are read one after the other while recording goes on, so
 * they may be some events apart.
 *   EINVAL  neither an active stream nor an open log; null pointer; size below that of
 *           the first member.
 */
int posixtrace_get_counts(trace_id_t, struct posixtrace_counts *, size_t);

/* Events of one type. */
struct posixtrace_type_count {
	unsigned long pt_events;
	unsigned long pt_bytes;	    /* of data, as recorded */
	unsigned long pt_truncated; /* events whose data was cut to max-data-size */
	unsigned long pt_unread; /* of the events, those that a reader is still to get */
};

/*
 * Fills in count members of *counts, that of event type id at [id]; those beyond the last
 * type there can be are 0. Counted is what was recorded since the stream was created or last
 * cleared, and not lost in it: what was read (of a plain stream) or flushed, and what is in
 * the stream now. System events are counted as they are recorded; OVERFLOW, RESUME and the
 * STOP of a stream that stopped because it was full are made up later, and counted when they
 * are read or flushed. Events that the log lost are counted. What a stream with log flushed
 * before it was read, nobody is still to get. Counting takes time in
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

/*
 * What can be seen of another process, or of this user's shared objects, from outside: for
 * telling why nothing is recorded. Nothing is made or changed by looking, and what is
 * found may have changed by the time it is told. Sizes as for posixtrace_get_counts().
 */
struct posixtrace_process {
	unsigned long pt_size;
	/* Its effective user, in whose directory its objects are. */
	uid_t pt_user;
	/* Its number in its own pid namespace, and how many of these lie between it and the
	 * caller: 0, it is in the caller's. */
	pid_t pt_inner_pid;
	unsigned int pt_depth;
	/* It has a process page, made by itself or by who traces it. */
	int pt_has_page;
	/* The program that it runs now has the library in it, and that has started. */
	int pt_has_library;
	/* Streams that trace it, and names of events that it, or its family of processes,
	 * has opened. */
	unsigned int pt_streams;
	unsigned int pt_events;
};

struct posixtrace_process_stream {
	unsigned long pt_size;
	/* Error number with which the process failed to get at the stream, or 0. */
	int pt_error;
	/* The process that controls it and, with a log, the one that writes the log; and
	 * whether they live. */
	pid_t pt_controller;
	pid_t pt_keeper;
	int pt_is_controlled;
	int pt_is_kept;
	/* The process that it was made for; others joined. */
	pid_t pt_target;
	int pt_has_log;
	int pt_full_policy;
	unsigned long pt_lost_events;
	/* As posix_trace_get_status() would tell, which resets what this does not. */
	struct posix_trace_status_info pt_status;
	trace_event_set_t pt_filter;
	char pt_name[TRACE_NAME_MAX];
	/* Path of the log; empty if there is none, or none was known. */
	char pt_log[4096];
};

struct posixtrace_system {
	unsigned long pt_size;
	/* 0, or why the user's directory of shared objects cannot be used: ENOENT, it has
	 * not been made yet, which is no fault; EPERM, it is not safe; ENOMEM, a limit. */
	int pt_directory_error;
	/* Active streams of the user; TRACE_SYS_MAX is the most. */
	unsigned int pt_streams;
	/* The processor's counter can be used as a clock, and membarrier(2) is there. There
	 * is another way for either, which is slower. */
	int pt_has_counter;
	int pt_has_barrier;
};

/*
 * A process of 0 is the caller.
 *   EINVAL  null pointer, or size below that of the first member.
 *   ESRCH   no such process.
 *   EPERM   it is another user's, or its shared objects are not safe to use.
 *   ENOMEM  no memory or no descriptor.
 */
int posixtrace_get_process(pid_t, struct posixtrace_process *, size_t);

/*
 * The streams that trace it, and the names of events that have been opened, by number from
 * 0 on. The name has room for TRACE_EVENT_NAME_MAX + 1 bytes. A stream that has just ended
 * may still be counted; asking for it is ENOENT then, too.
 *   ENOENT  no such number.
 *   others  as posixtrace_get_process().
 */
int posixtrace_get_process_stream(pid_t, unsigned int number,
				  struct posixtrace_process_stream *, size_t);
int posixtrace_get_process_event(pid_t, unsigned int number, trace_event_id_t *,
				 char *event_name);

/*   EINVAL  as posixtrace_get_process(). */
int posixtrace_get_system(struct posixtrace_system *, size_t);

#ifdef __cplusplus
}
#endif

#endif
