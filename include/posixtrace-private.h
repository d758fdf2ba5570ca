/* SPDX-License-Identifier: MIT */
/*
 * Functions of the library for the commands, tests and benchmarks of this tree. This header is not
 * installed, and the shared library does not export its functions: it changes with the commands.
 * The rules of <posixtrace.h> hold, but arguments are checked only as far as the comments say.
 */
#ifndef PTRC_PRIVATE_H
#define PTRC_PRIVATE_H

#include <posixtrace-log.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct posixtrace_cursor;

/* The figures of posixtrace_get_counts(), each named pt_ and its name (lib/api/figures.c). */
struct ptrc_counts {
	/* Events lost in the stream: overwritten before they were read (with a log: flushed),
	 * or not recorded because there was no room. */
	unsigned long pt_lost_events;
	/* Events lost in the log: overwritten there, discarded, or too large for it. */
	unsigned long pt_log_lost_events;
	/* Events in the log now, and their bytes. */
	unsigned long pt_log_events;
	unsigned long pt_log_bytes;
	/* Bytes of the events in the stream that were not read yet (with a log: not flushed
	 * yet). */
	unsigned long pt_stream_bytes;
	/* Processes that have been traced into the stream, from their first event or from their
	 * fork; a process that traces itself, from the creation of the stream. */
	unsigned long pt_processes;
	/* Threads that have recorded an event. A signal handler that records one while its
	 * thread records another counts as one more thread. */
	unsigned long pt_threads;
	/* Events in the log that reading has left out since it was opened or rewound: those
	 * between OVERFLOW and RESUME, because others around them were lost, and those of types
	 * that the filter held at their time. */
	unsigned long pt_gap_events;
	unsigned long pt_filtered_events;
	/* OVERFLOW and RESUME events that reading has made up since then, because of a gap. They
	 * are not counted as events in the log. */
	unsigned long pt_made_up_events;
	/* What reading has skipped since then because of damage: events, as far as their number
	 * is known; places, each reported by an OVERFLOW and a RESUME; and those of these places
	 * with an unknown number of events. */
	unsigned long pt_damaged_events;
	unsigned long pt_damaged_gaps;
	unsigned long pt_uncounted_gaps;
	/* Processes that should have been traced and could not be, so that all of their events
	 * are lost, and the cause for one of them: EMFILE, too few descriptors; ENOMEM, too
	 * little memory or address space; EPROTO, the program has a library of another version.
	 * A process counts when it records an event, or when it starts if it cannot even find
	 * its streams. A clear does not reset this. */
	unsigned long pt_untraced_processes;
	unsigned long pt_untraced_error;
	/* Names of event types that got POSIX_TRACE_UNNAMED_USEREVENT, because the family of
	 * processes had TRACE_USER_EVENT_MAX types: a lower bound, at most 4096, that is the
	 * less exact the more there are. They count since the family opened its first name. A
	 * clear does not reset this. */
	unsigned long pt_refused_names;
	/* Names of event types that cannot be read from the log because of damage. If the log
	 * has no end, there may be more. */
	unsigned long pt_missing_names;
	/* How often event calls waited for room in the stream (posixtrace_attr_setfullwait), and
	 * the total time of the waits in ns: two threads that waited for a second waited two. A
	 * current wait counts up to now. */
	unsigned long pt_waits;
	unsigned long pt_wait_ns;
	/* Events in the log that reading has skipped since it was opened or rewound, because of
	 * posixtrace_log_select(). */
	unsigned long pt_skipped_events;
	/* Damaged parts of the log without events, of those read so far: the header, of which
	 * the log has a copy, and descriptions of machine, processes and clocks. */
	unsigned long pt_damaged_parts;
	/* For a log that was written by posixtrace_log_writer_open() and the like: events that
	 * it lacks because their source was damaged, and because they came too fast for the
	 * program that wrote it. pt_is_source_uncounted is 1 if an unknown number of others may
	 * be missing, because the source was damaged there, too, or had no end. */
	unsigned long pt_source_damaged_events;
	unsigned long pt_source_missed_events;
	unsigned long pt_is_source_uncounted;
	/* Events that a closed log lacks because its last flush failed
	 * (posix_stream_flush_error), as far as their number is known. */
	unsigned long pt_unwritten_events;
	/* For a rotated log opened by its path (posixtrace_log_open): its files; files missing
	 * between them, plus one if others followed the last one; files before the first one;
	 * those of these that were deleted because of pt_keep; and the events of the files
	 * before the first one. */
	unsigned long pt_files;
	unsigned long pt_missing_files;
	unsigned long pt_earlier_files;
	unsigned long pt_deleted_files;
	unsigned long pt_earlier_events;
	/* The events of the files that are missing between others; 0 if unknown. And the parts
	 * of pt_damaged_gaps and pt_damaged_events that are missing files, not damage. */
	unsigned long pt_missing_events;
	unsigned long pt_file_gaps;
	unsigned long pt_file_gap_events;
	/* For a log that was written by posixtrace_log_writer_open() and the like: damaged parts
	 * without events, and unreadable names of event types, in the source of its events; at
	 * most 65535. Descriptions of machine, processes and clocks may be missing, and names
	 * may be numbers. */
	unsigned long pt_source_damaged_parts;
	/* 1 if the last file of such a rotated log says that another one follows, which does not
	 * exist: then the log has no end, and the numbers of missing files and events are
	 * unknown. Else 0. */
	unsigned long pt_is_last_file_missing;
	/* The largest data that was cut to max-data-size since the creation or the last clear,
	 * in bytes; 0: none, or the log has no end. In a log at most 2^32 - 1. */
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
 * Does the same as posix_trace_shutdown(), and stores the final counts: pt_log_events is then the
 * number of events written to the log, even if it is a pipe.
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
 * ends with ECANCELED; events that were not written are not in the log. Returns at once. An output
 * that is still taking data is not given up. Safe in every thread, even while the stream is shut
 * down.
 *   EINVAL  not an active stream with a log.
 */
int ptrc_trace_give_up_log(trace_id_t);

/*
 * Stores the pid of the keeper, the process that writes the log of an active stream. If it was
 * killed, another one is started first: until then nothing is flushed, and the stream may fill up
 * and lose events. The library notices this in any call with the stream; a program that makes no
 * calls for a long time while others record can watch the keeper by pidfd_open(2), and call this
 * when it has ended. The keeper is no child of the caller.
 *   EAGAIN  the process has ended, and another thread is about to start the next, or a limit on
 *           processes allows none.
 *   EINVAL  not an active stream with a log.
 *   ENOMEM  no other process can be started.
 */
int ptrc_trace_keeper(trace_id_t, pid_t *);

/* As posixtrace_log_writer_close(); the counts may be NULL: the log lacks nothing. */
int ptrc_log_copy_close(struct posixtrace_log_writer *, const struct ptrc_counts *);

/*
 * Events in the form of a log, to be sent over a pipe or a socket: all parts of a cursor together
 * are a log, which ptrc_log_open_parts() reads, or posix_trace_open() from a file.
 */
struct ptrc_part {
	/* Valid until the next part, or until the cursor is closed. */
	const void *pt_bytes;
	size_t pt_length;
	/* events in the part */
	unsigned long pt_events;
	/* one of them reports that the stream lost events */
	int pt_has_gap;
	/* there may be more events for another part */
	int pt_is_more;
};

/*
 * Reads the next events, as posixtrace_cursor_trygetnext_event() does, into a part of about 64 KiB
 * at most, unless a single event is larger. The first part starts like a log, even if there is no
 * event; others are empty then. Names of event types and descriptions of processes precede the
 * events, which have their types in the stream. Looking at a process takes a moment.
 *   EINVAL  the stream was shut down.
 *   ENOMEM  no memory: events may be missing, and each later call returns the same.
 */
int ptrc_cursor_get_part(struct posixtrace_cursor *, struct ptrc_part *);

/*
 * Makes a part without events that has status and counts, as those of a log: losses in the stream
 * and in the log, untraced processes, refused names, and waits of events. is_end: the log is
 * complete, so this is the last part. The stream may have been shut down.
 *   EINVAL  no part was read before.
 *   ENOMEM  as above.
 */
int ptrc_cursor_end_part(struct posixtrace_cursor *, const struct posix_trace_status_info *,
			 const struct ptrc_counts *, bool is_end, struct ptrc_part *);

/*
 * Opens a log that arrives in parts, from a pipe or a socket, and stores an identifier, which
 * posix_trace_close() closes. The caller passes at least the first 1760 bytes of the log. The
 * functions that read logs report what has arrived; at its current end they report that there is no
 * event. Packets of events are read in the order of their arrival.
 *
 * posix_trace_rewind() and posixtrace_log_select() refuse such a log with EINVAL, because the parts
 * are not kept. Its status and counts are those that it contained last; before the first ones, the
 * status is that of a log without an end. One thread at a time may use it. An error ends the
 * reading: the functions that read events then return EPROTO, too.
 *   EINVAL  the bytes are not the first of a log, or too few; the log is of a kind that cannot be
 *           sent through a pipe.
 *   EPROTO  the following bytes are no log.
 *   ENOMEM  no memory.
 */
int ptrc_log_open_parts(const void *bytes, size_t size, trace_id_t *);

/*
 * Adds the next bytes, however many, and stores whether the log is complete now (if the pointer is
 * not NULL): then nothing may follow. Pointers from functions about the origin of the log become
 * invalid; blocks do not. Bytes that were not read take memory.
 *   EINVAL  not a log that arrives in parts.
 *   EPROTO  this is no part of the log, or an earlier call has failed.
 *   ENOMEM  no memory.
 */
int ptrc_log_add_part(trace_id_t, const void *bytes, size_t size, int *is_complete);

/*
 * Returns to the first event of a log, and selects reading part by part. The parts, each of about
 * 256 KiB at most, are read in the order in which they were written, from number `first` (0: from
 * the start) to the one before `end` (ULONG_MAX: all). Within a part, events are in the order of
 * time; those of the next one may be earlier, like those that an observer has added late, though
 * most logs have none. So a log that is still being written, and is opened again when it has grown,
 * starts with the same events in the same order, and others follow. This holds until the next
 * posixtrace_log_select() or call of this function, even after posix_trace_rewind().
 *   EINVAL  not an open log; a log that arrives in parts (ptrc_log_open_parts); the part was forgotten
 *           (ptrc_log_refresh).
 *   ENOMEM  no memory; nothing was done.
 */
int ptrc_log_select_parts(trace_id_t, unsigned long first, unsigned long end);

/* The position in a log that is read in parts. */
struct ptrc_reading_place {
	/* common to all files of a log, and unique to the log; not 0 */
	unsigned long pl_log_id;
	/* Number of the first part in the log, which is not 0 if files of a rotated log are
	 * gone, and one past its last part. */
	unsigned long pl_first_part, pl_end_part;
	/* With ptrc_log_select_parts(): a caller that reads from this part on gets pl_events
	 * events that have been read, and then those that have not. */
	unsigned long pl_part, pl_events;
};

/*
 * Stores the position. The last two members are 0 if the log is not read in parts.
 *   EINVAL  not an open log.
 */
int ptrc_log_get_place(trace_id_t, struct ptrc_reading_place *);

/*
 * Reads what has been written to a log since it was opened, or since the last call. The cost
 * depends on that, and on what follows the start of part `first`, but not on the size of the log.
 * The parts before number `first` are forgotten: the log then is as if it had just been opened and
 * started with that part, except that the counts are those of all of it. A selection ends. Pointers
 * from posixtrace_log_get_process() and the like become invalid. No other thread may use the log
 * meanwhile.
 *   EINVAL  not an open log; a log that arrives in parts (ptrc_log_open_parts).
 *   ESTALE  the log can only be closed, and opened again, which reports what happened to it: it was closed by
 *           its writer, truncated, overwritten or damaged, or is of a kind that has to be opened again each
 *           time: rotated (posixtrace_attr_setlogrotation), or one that overwrites its oldest events.
 *   ENOMEM  no memory; the log can only be closed.
 */
int ptrc_log_refresh(trace_id_t, unsigned long first);

/*
 * Compares the descriptions of parts that a closed log has in several places, and stores the number
 * of parts with different ones. Such a log is damaged, even if all of its events can be read. It
 * looks at all parts but at no events: a caller that reads all events, without a selection, learns
 * whether these are damaged (posixtrace_get_counts). The position does not change. The number is 0
 * for a log without such descriptions, one for which posixtrace_get_type_counts() returns ENODATA.
 *   EINVAL  not an open log.
 *   ENOMEM  no memory.
 */
int ptrc_log_verify(trace_id_t, unsigned long *);

/*
 * Opens the last file of the log at this path for reading: the one that its keeper writes, or wrote
 * last. If the log is not rotated, or the path names a later file of one that is, this is the file at
 * the path. The caller closes *fd.
 *   others  as posixtrace_log_open().
 */
int ptrc_log_open_last(const char *path, int *fd);

/*
 * An observer records events, of any threads, that the controller of a stream learns of a moment
 * after they occurred: those that the operating system reports of processes, for example. The log
 * has them in the order of their times. A live reader and a cursor report them when they are added,
 * after later ones.
 *
 * One thread opens and closes an observer, and lives all that time; other threads may use it in
 * turns. A forked child has none. An observer that is not closed ends with its thread.
 */
struct ptrc_observer;

struct ptrc_observed {
	/* By CLOCK_MONOTONIC. An event that is earlier than the previous one gets the time of
	 * that. */
	struct timespec po_time;
	/* posix_pid and posix_tid of the event */
	pid_t po_pid, po_tid;
	/* from ptrc_observer_type() */
	trace_event_id_t po_event;
	const void *po_data;
	size_t po_size;
};

/*
 * Opens an observer for an active stream, which need not run.
 *   EINVAL  not an active stream.
 *   ENOMEM  no memory.
 */
int ptrc_observer_open(trace_id_t, struct ptrc_observer **);

/*
 * Stores the event type of this name, with this layout (NULL: without one), as
 * posix_trace_trid_eventid_open() does. The caller has checked the layout.
 *   EINVAL        the stream was shut down.
 *   ENAMETOOLONG  of the name.
 *   EEXIST, ENOSPC, ENOMEM  as posixtrace_eventid_open_layout().
 */
int ptrc_observer_type(struct ptrc_observer *, const char *name, const char *layout,
		       trace_event_id_t *);

/*
 * Adds `count` events. Each is recorded if the stream runs now and filter and patterns accept its
 * type; data beyond max-data-size is cut off; if the stream is full the event is lost, or waits, as
 * one that is recorded now. `lost` events that the caller has missed count as events that the
 * stream has lost.
 *   EINVAL  the stream was shut down.
 */
int ptrc_observer_add(struct ptrc_observer *, const struct ptrc_observed *, size_t count,
		      unsigned long lost);

/*
 * Adds a description of a process to the log, in the form of posixtrace_log_get_process() and
 * posixtrace_log_get_mapping() but with times of CLOCK_MONOTONIC. pp_size, pp_has_ended and pm_size
 * are ignored. The log keeps it unless its keeper has found the same process by itself. Does
 * nothing for a stream without a log.
 *   EINVAL  the stream was shut down.
 */
int ptrc_observer_add_process(struct ptrc_observer *, const struct posixtrace_log_process *,
			      const struct posixtrace_log_mapping *);

/*
 * Has the keeper describe a process in the log now, and waits for that, 20 ms at most.
 *   EINVAL     the stream was shut down.
 *   ETIMEDOUT  the keeper has not looked, or the stream has no log.
 */
int ptrc_observer_look(struct ptrc_observer *, pid_t);

/* Closes an observer; NULL is allowed. The stream may have been shut down. */
void ptrc_observer_close(struct ptrc_observer *);

/*
 * The following functions inspect another process, or this user's shared objects, to find out why
 * nothing is recorded; ptrace-doctor uses them. They create and change nothing. What they found may
 * have changed when they return.
 */
struct ptrc_inspected_process {
	/* The effective user of the process, in whose directory its shared objects are. */
	uid_t pt_user;
	/* Its pid in its own pid namespace, and how many levels that is below the caller's; 0:
	 * it is the same. */
	pid_t pt_inner_pid;
	unsigned int pt_depth;
	/* The process has a page, made by itself or by a process that traces it. A program that
	 * is not traced, and that has opened no event name, needs none. */
	int pt_has_page;
	/* The library has been initialised in the current program of the process. */
	int pt_has_library;
	/* The number of streams that trace the process, and of event names that it, or the
	 * processes that share names with it by fork, have opened. */
	unsigned int pt_streams;
	unsigned int pt_events;
	/* Names beyond TRACE_USER_EVENT_MAX, at least (as in struct ptrc_counts), and the first
	 * one of them. */
	unsigned long pt_refused_names;
	char pt_refused_name[TRACE_EVENT_NAME_MAX + 1];
};

struct ptrc_inspected_stream {
	/* The error number with which the process failed to map the stream, or 0. */
	int pt_error;
	/* The process that controls the stream, and its keeper if it has a log; then whether
	 * each of them is alive. */
	pid_t pt_controller;
	pid_t pt_keeper;
	int pt_is_controlled;
	int pt_is_kept;
	/* The process for which the stream was created; others may have joined by fork. */
	pid_t pt_target;
	int pt_has_log;
	int pt_full_policy;
	unsigned long pt_lost_events;
	/* As posix_trace_get_status() reports it. Nothing is reset. */
	struct posix_trace_status_info pt_status;
	trace_event_set_t pt_filter;
	char pt_name[TRACE_NAME_MAX];
	/* The path of the log; empty if there is none, or it is unknown. */
	char pt_log[4096];
};

struct ptrc_inspected_system {
	/* 0, or why the user's directory of shared objects cannot be used. ENOENT: it does not
	 * exist yet, which is no fault. EPERM: it is not safe. ENOMEM: a limit is reached. */
	int pt_directory_error;
	/* Number of active streams of the user, at most TRACE_SYS_MAX. */
	unsigned int pt_streams;
	/* The processor's counter can be used as a clock, and membarrier(2) is available.
	 * Without one of them the library is slower. */
	int pt_has_counter;
	int pt_has_barrier;
	/* Orphans that were dropped because there were too many of them, since the last
	 * posixtrace_discard_orphan(0). */
	unsigned int pt_dropped_orphans;
};

/*
 * Inspects a process (0: the caller).
 *   ESRCH   no such process.
 *   EPERM   it is another user's, or its shared objects are not safe to use.
 *   ENOMEM  no memory or no descriptor.
 */
int ptrc_inspect_process(pid_t, struct ptrc_inspected_process *);

/*
 * Report one of the streams that trace the process, or identifier and name of one of its event
 * types, numbered from 0. The buffer for the name has TRACE_EVENT_NAME_MAX + 1 bytes; the name is
 * empty if a process was stopped or killed while it opened it. pt_streams may still count a stream
 * that has just ended, for which the result is ENOENT.
 *   ENOENT  no such number.
 *   others  as ptrc_inspect_process().
 */
int ptrc_inspect_stream(pid_t, unsigned int number, struct ptrc_inspected_stream *);
int ptrc_inspect_event(pid_t, unsigned int number, trace_event_id_t *, char *event_name);

/*
 * Stores the path of this user's directory of shared objects in /dev/shm, at most 64 bytes;
 * is_create: creates it if it does not exist. The library and all commands use this one. If another
 * user has taken the name posixtrace-<user>, its name starts with that.
 *   ENOENT  it does not exist yet; the path is the one that it would have.
 *   EPERM   it is not safe to use: no directory, or open to others. The path is stored.
 *   ENOMEM  no memory or no descriptor.
 */
int ptrc_inspect_directory(bool is_create, char *path);

/* Inspects this user's shared objects and the machine. */
void ptrc_inspect_system(struct ptrc_inspected_system *);

#ifdef __cplusplus
}
#endif

#endif
