/* SPDX-License-Identifier: MIT */
/*
 * What only the commands of this tree, its tests and its benchmarks need of the library. This header is not
 * installed, and the shared library does not export what it declares: it changes with the commands. The
 * rules of <posixtrace.h> hold, but no function checks its arguments, beyond what is said of errors.
 */
#ifndef PTRC_PRIVATE_H
#define PTRC_PRIVATE_H

#include <posixtrace-log.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct posixtrace_cursor;

/* The figures of posixtrace_get_counts(), each with its name after pt_: lib/api/figures.c has the list. */
struct ptrc_counts {
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
	 * number is known; places, each of which an OVERFLOW and a RESUME report; and those of
	 * these places with events whose number is not known. */
	unsigned long pt_damaged_events;
	unsigned long pt_damaged_gaps;
	unsigned long pt_uncounted_gaps;
	/* Processes that should have been traced and could not be, so that all of their events are
	 * lost, and the cause for one of them: EMFILE, too few descriptors; ENOMEM, too little
	 * memory or address space; EPROTO, the program has a library of another version. A
	 * process counts when it records an event, or when it begins if it cannot even find out
	 * which streams should trace it. A clear does not reset this. */
	unsigned long pt_untraced_processes;
	unsigned long pt_untraced_error;
	/* Names of event types that got POSIX_TRACE_UNNAMED_USEREVENT, because the family of
	 * processes had TRACE_USER_EVENT_MAX types: at least this many different ones. The more
	 * there are, the more of them count together, and it never exceeds 4096. They count since
	 * the family opened its first name. A clear does not reset this. */
	unsigned long pt_refused_names;
	/* Names of event types that the log had and that cannot be read, as it is damaged. If the log
	 * has no end, there may be more. */
	unsigned long pt_missing_names;
	/* How often event calls waited for room in the stream (posixtrace_attr_setfullwait), and for
	 * how long in all, ns: two threads that waited for a second waited two. A wait under way
	 * counts as far as it has got. */
	unsigned long pt_waits;
	unsigned long pt_wait_ns;
	/* Events in the log that reading has skipped since it was opened or rewound, because
	 * posixtrace_log_select() said so. */
	unsigned long pt_skipped_events;
	/* Parts of the log that have no events and are damaged, as far as they were looked at: the
	 * head, of which the log has a copy, and what describes machine, processes and clocks. */
	unsigned long pt_damaged_parts;
	/* Of a log that was written by posixtrace_log_writer_open() and its like: what it lacks of the
	 * events that it was to get, as their source was damaged, and as they came too fast for who
	 * wrote it. pt_is_source_uncounted is 1 if others may be missing whose number is not known, as
	 * the source was damaged there, too, or had no end. */
	unsigned long pt_source_damaged_events;
	unsigned long pt_source_missed_events;
	unsigned long pt_is_source_uncounted;
	/* Events that a closed log lacks because its last flush failed (posix_stream_flush_error), as far
	 * as their number is known. */
	unsigned long pt_unwritten_events;
	/* Of a rotated log that was opened by its path (posixtrace_log_open): how many files it has; how many
	 * are missing between them, and one if others followed the last one; how many were before the first
	 * one, how many of these were too many to be kept, and the events that those files had. */
	unsigned long pt_files;
	unsigned long pt_missing_files;
	unsigned long pt_earlier_files;
	unsigned long pt_deleted_files;
	unsigned long pt_earlier_events;
	/* The events of the files that are missing between the others; 0 if they are not known. And of
	 * pt_damaged_gaps and pt_damaged_events those where nothing is damaged, but files are missing. */
	unsigned long pt_missing_events;
	unsigned long pt_file_gaps;
	unsigned long pt_file_gap_events;
	/* Of a log that was written by posixtrace_log_writer_open() and its like: damaged parts without events,
	 * and names of event types that could not be read, in what its events were read from; at most
	 * 65535. What the log says of machine, processes and clocks may be missing, and names may be
	 * numbers. */
	unsigned long pt_source_damaged_parts;
	/* 1 if the last file of such a rotated log says that another one follows, which is not there: so
	 * the log has no end, and the numbers of missing files and events are not known. Else 0. */
	unsigned long pt_is_last_file_missing;
	/* Bytes of the largest data that was cut to max-data-size since the creation or the last clear; 0:
	 * none was, or the log has no end. In a log at most 2^32 - 1. */
	unsigned long pt_data_needed;
};

/*
 * Fills in the counts. Members without meaning are 0: those of the log for a plain stream; those of stream
 * memory, processes and threads for a log; those from pt_gap_events to pt_uncounted_gaps,
 * pt_missing_names, pt_skipped_events and those from pt_damaged_parts to pt_is_last_file_missing, for an
 * active stream.
 *   EINVAL  neither an active stream nor an open log.
 */
int ptrc_trace_counts(trace_id_t, struct ptrc_counts *);

/*
 * Does what posix_trace_shutdown() does, and fills in the final counts:
 * pt_log_events then says how many events the log has got, even if it is a pipe.
 *   EINVAL  not an active stream: nothing was done.
 *   ECHILD  the keeper of the log has died, and so has each that was started in its place: the stream is gone
 *           for the caller, but not its events. The next posix_trace_create_withlog() of the user, or
 *           posixtrace_salvage_orphan(), finishes the log.
 *   others  as posix_trace_shutdown(): the stream is gone and *counts is filled in.
 */
int ptrc_trace_shutdown(trace_id_t, struct ptrc_counts *);

/*
 * Gives the log of an active stream up if it stalls: a FIFO, socket or device that takes nothing
 * for a second. A flush or shutdown that waits for it in another thread, and each later one, then
 * ends with ECANCELED; what was not written is not in the log. Returns at once. Output that goes
 * on is not given up. Safe in every thread, also while the stream is shut down.
 *   EINVAL  not an active stream with a log.
 */
int ptrc_trace_give_up_log(trace_id_t);

/*
 * Stores the process that writes the log of an active stream, its keeper. If that was killed,
 * another one is started first: until then nothing is flushed, and the stream may fill up and lose
 * events. The library notices it in any call with the stream; a program that makes no calls for
 * long while others record can watch the process by pidfd_open(2), and call this when it has
 * ended. It is no child of the caller.
 *   EAGAIN  the process has ended, and another thread is about to start the next, or a limit on
 *           processes allows none.
 *   EINVAL  not an active stream with a log.
 *   ENOMEM  no other process can be started.
 */
int ptrc_trace_keeper(trace_id_t, pid_t *);

/* As posixtrace_log_writer_close(); null: the log lacks nothing. */
int ptrc_log_copy_close(struct posixtrace_log_writer *, const struct ptrc_counts *);

/*
 * Events as a log has them, for a program that is to receive them over a pipe or a socket: all parts of a
 * cursor, put together, are a log without a file, which ptrc_log_open_parts() reads, and so does
 * posix_trace_open() when they stand in a file.
 */
struct ptrc_part {
	/* Valid until the next part, or until the cursor is closed. */
	const void *pt_bytes;
	size_t pt_length;
	/* How many events the part has. */
	unsigned long pt_events;
	/* One of them tells that the stream lost events. */
	int pt_has_gap;
	/* There may be more events now, for another part. */
	int pt_is_more;
};

/*
 * Reads the next events, as posixtrace_cursor_trygetnext_event() does, into a part of some 64 KiB at
 * most, unless a single event is larger. The first part begins with what a log begins with, also if
 * there is no event; others are empty then. Names of event types, and what /proc shows of processes, come
 * before the events. They have their types in the stream. Looking at a process takes a moment.
 *   EINVAL  the stream was shut down.
 *   ENOMEM  no memory: events may be missing, and each later call says so again.
 */
int ptrc_cursor_get_part(struct posixtrace_cursor *, struct ptrc_part *);

/*
 * Makes a part without events that tells status and counts, as those of a log: of the counts, what was
 * lost in the stream and in the log, what could not be traced or got no name, and how events waited;
 * is_end: and that the log is complete, so that this is the last part. The stream may have been shut
 * down.
 *   EINVAL  no part was read before.
 *   ENOMEM  as above.
 */
int ptrc_cursor_end_part(struct posixtrace_cursor *, const struct posix_trace_status_info *,
			 const struct ptrc_counts *, bool is_end, struct ptrc_part *);

/*
 * Opens a log that comes in parts, as a program receives it from a pipe or a socket, and stores an
 * identifier, which posix_trace_close() closes. The caller gives at least the first 1760 bytes of the log.
 * The functions that read logs report what has come; where it ends for now they say that there is no
 * event. Packets of events are read in the order in which they come.
 *
 * posix_trace_rewind() and posixtrace_log_select() refuse such a log with EINVAL, as the parts are not kept.
 * Its status and its counts are those that it told last; as long as it has told none, the status is that
 * of a log without an end. One thread at a time uses it. What is not right ends the reading: the
 * functions that read events then return EPROTO, too.
 *   EINVAL  the bytes are not the first of a log, or too few; the log is of a kind that no
 *           pipe gets.
 *   EPROTO  what follows upon these is no log.
 *   ENOMEM  no memory.
 */
int ptrc_log_open_parts(const void *bytes, size_t size, trace_id_t *);

/*
 * Adds the bytes that come next, however many, and stores whether the log is complete now (if the
 * pointer is not null): then nothing may follow. Pointers that the functions which tell whose a log is
 * have given are not valid any more; blocks are. Memory is taken for what has come and was not read.
 *   EINVAL  no log that comes in parts.
 *   EPROTO  this is no part of the log, or an earlier call has failed.
 *   ENOMEM  no memory.
 */
int ptrc_log_add_part(trace_id_t, const void *bytes, size_t size, int *is_complete);

/*
 * Goes back to the first event of a log, and has the parts of the log, each of some 256 KiB at most,
 * read one after the other in the order in which they were written, from the one with the number
 * `first` on (0: from the start) to the one before `end` (ULONG_MAX: all). Within a part events are in
 * the order of time; those of the next one may be earlier, as those that an observer has added late, though
 * most logs have none. So a log that is still written, and is opened again when it has grown, starts with the
 * same events in the same order, and others follow. This holds until the next
 * posixtrace_log_select() or call of this function, also across posix_trace_rewind().
 *   EINVAL  not an open log; a log that comes in parts (ptrc_log_open_parts); the part was forgotten
 *           (ptrc_log_refresh).
 *   ENOMEM  no memory; nothing was done.
 */
int ptrc_log_select_parts(trace_id_t, unsigned long first, unsigned long end);

/* Where a log that is read in parts has been read to. */
struct ptrc_reading_place {
	/* What all files of a log have in common, and no other log has; not 0. */
	unsigned long pl_log_id;
	/* The numbers of the first part that the log has, which is not 0 if files of a rotated log are
	 * gone, and of the part after its last one. */
	unsigned long pl_first_part, pl_end_part;
	/* With ptrc_log_select_parts(): a caller that reads from the part with this number on gets pl_events
	 * events that have been read, and then those that have not. */
	unsigned long pl_part, pl_events;
};

/*
 * Tells the place. The last two members are 0 if the log is not read in parts.
 *   EINVAL  not an open log.
 */
int ptrc_log_get_place(trace_id_t, struct ptrc_reading_place *);

/*
 * Looks at what a log that is still written has got since it was opened, or since the last call. What it
 * costs depends on that, and on what follows the start of part `first`, but not on how long the log
 * is. The parts before number `first` are forgotten: afterwards the log is as if it had been opened just now
 * and began with that part, but for the counts of all that it has. A selection is over. Pointers that
 * posixtrace_log_get_process() and the like have stored are no longer valid. No other thread may use the log
 * meanwhile.
 *   EINVAL  not an open log; a log that comes in parts (ptrc_log_open_parts).
 *   ESTALE  the log can only be closed, and opened anew, which says what happened to it: it was closed by
 *           its writer, cut off, written anew or damaged, or is of a kind that has to be opened anew each
 *           time: rotated (posixtrace_attr_setlogrotation), or one that overwrites its oldest events.
 *   ENOMEM  no memory; the log can only be closed.
 */
int ptrc_log_refresh(trace_id_t, unsigned long first);

/*
 * Compares what a closed log says of its parts in several places, and stores how many parts say
 * different things. Such a log is damaged, even if all of its events can be read. It looks at all
 * parts, but not at events: a caller that reads all events, without a selection, learns if these are damaged
 * (posixtrace_get_counts). The position stays. A log that says nothing twice, as
 * posixtrace_get_type_counts() has no answer for it, has 0.
 *   EINVAL  not an open log.
 *   ENOMEM  no memory.
 */
int ptrc_log_verify(trace_id_t, unsigned long *);

/*
 * An observer records events that the controller of a stream has learned of a moment later than they
 * were, of whatever threads: what the operating system reports of processes, for example. They stand in
 * the log by the time at which they were. A live reader and a cursor report them when they were added,
 * after later ones.
 *
 * One thread opens an observer and closes it, and lives as long as that; if others use it meanwhile,
 * they take turns. A forked child has none. The stream loses no memory: an
 * observer that is not closed ends with its thread.
 */
struct ptrc_observer;

struct ptrc_observed {
	/* Of CLOCK_MONOTONIC. Time goes on from event to event: one that is earlier than the event
	 * before gets the time of that. */
	struct timespec po_time;
	/* Whose event it is: posix_pid and posix_tid. */
	pid_t po_pid, po_tid;
	/* A type that ptrc_observer_type() has stored. */
	trace_event_id_t po_event;
	const void *po_data;
	size_t po_size;
};

/*
 * ptrc_observer_open() opens one for an active stream, which need not run.
 *   EINVAL  not an active stream.
 *   ENOMEM  no memory.
 */
int ptrc_observer_open(trace_id_t, struct ptrc_observer **);

/*
 * Stores the event type of this name, with this layout (a null pointer: without one), as
 * posix_trace_trid_eventid_open() does.
 *   EINVAL        the stream was shut down. The caller has checked the layout.
 *   ENAMETOOLONG  of the name.
 *   EEXIST, ENOSPC, ENOMEM  as posixtrace_eventid_open_layout().
 */
int ptrc_observer_type(struct ptrc_observer *, const char *name, const char *layout,
		       trace_event_id_t *);

/*
 * Adds `count` events. Each is recorded if the stream runs now and filter and patterns accept its
 * type; data beyond max-data-size is cut; if the stream is full the event is lost, or waits, as one
 * that is recorded now. `lost` is the number of events that the caller knows to be lost before it
 * could learn of them: they count as events that the stream has lost.
 *   EINVAL  the stream was shut down.
 */
int ptrc_observer_add(struct ptrc_observer *, const struct ptrc_observed *, size_t count,
		      unsigned long lost);

/*
 * Tells a log what was observed of a process, in the form in which posixtrace_log_get_process() and
 * posixtrace_log_get_mapping() tell it, but with times of CLOCK_MONOTONIC. pp_size, pp_has_ended and
 * pm_size are not looked at. The log keeps it unless its keeper has found the same process by itself.
 * Does nothing for a stream without a log.
 *   EINVAL  the stream was shut down.
 */
int ptrc_observer_add_process(struct ptrc_observer *, const struct posixtrace_log_process *,
			      const struct posixtrace_log_mapping *);

/* Closes it; a null pointer is allowed. The stream may have been shut down. */
void ptrc_observer_close(struct ptrc_observer *);

/*
 * The following functions look at another process, or at this user's shared objects, from
 * outside, to find out why nothing is recorded; ptrace-doctor uses them. They make and change
 * nothing. What they found may have changed when they return.
 */
struct ptrc_inspected_process {
	/* The effective user of the process, in whose directory its shared objects are. */
	uid_t pt_user;
	/* Its pid in its own pid namespace, and how many levels below the caller's pid namespace
	 * that is; 0: it is the same. */
	pid_t pt_inner_pid;
	unsigned int pt_depth;
	/* The process has a page, which it or a process that traces it has made. A program that is
	 * not traced, and that has opened no event name, needs none. */
	int pt_has_page;
	/* The library has started in the program that the process runs now. */
	int pt_has_library;
	/* The streams that trace the process, and the event names that it, or the processes
	 * that share names with it by fork, have opened. */
	unsigned int pt_streams;
	unsigned int pt_events;
	/* How many names at least found no room in addition to those, as in struct ptrc_counts, and
	 * the first one of them. */
	unsigned long pt_refused_names;
	char pt_refused_name[TRACE_EVENT_NAME_MAX + 1];
};

struct ptrc_inspected_stream {
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

struct ptrc_inspected_system {
	/* 0, or why the user's directory of shared objects cannot be used. ENOENT: it has not
	 * been made yet, which is no fault. EPERM: it is not safe. ENOMEM: a limit is reached. */
	int pt_directory_error;
	/* The active streams of the user, TRACE_SYS_MAX at most. */
	unsigned int pt_streams;
	/* The processor's counter can be used as a clock, and membarrier(2) is available.
	 * Without one of them the library uses a slower way. */
	int pt_has_counter;
	int pt_has_barrier;
	/* Orphans that were dropped because there were too many of them, since
	 * posixtrace_discard_orphan(0) was last called. */
	unsigned int pt_dropped_orphans;
};

/*
 * Fills in what is known of a process (0: the caller).
 *   ESRCH   no such process.
 *   EPERM   it is another user's, or its shared objects are not safe to use.
 *   ENOMEM  no memory or no descriptor.
 */
int ptrc_inspect_process(pid_t, struct ptrc_inspected_process *);

/*
 * Tell of one of the streams that trace the process, or identifier and name of one of its event
 * types. Streams and event types are numbered from 0 on. The buffer for the name has
 * TRACE_EVENT_NAME_MAX + 1 bytes; the name is empty if a process was stopped or killed while it
 * opened it. pt_streams may still count a stream that has just ended, for
 * which the result is ENOENT.
 *   ENOENT  no such number.
 *   others  as ptrc_inspect_process().
 */
int ptrc_inspect_stream(pid_t, unsigned int number, struct ptrc_inspected_stream *);
int ptrc_inspect_event(pid_t, unsigned int number, trace_event_id_t *, char *event_name);

/*
 * Stores the path of this user's directory of shared objects, which is in /dev/shm; is_create:
 * makes it if it is not there. The library and all commands use this one. If another user has
 * taken the name posixtrace-<user>, it has another one that begins so. The path has up to 64 bytes.
 *   ENOENT  it has not been made yet; the path is the one that it would have.
 *   EPERM   it is not safe to use: no directory, or open to others. The path is stored.
 *   ENOMEM  no memory or no descriptor.
 */
int ptrc_inspect_directory(bool is_create, char *path);

/* Fills in what is known of this user's shared objects and of the machine. */
void ptrc_inspect_system(struct ptrc_inspected_system *);

#ifdef __cplusplus
}
#endif

#endif
