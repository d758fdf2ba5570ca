/* SPDX-License-Identifier: MIT */
/*
 * Functions of the library for the commands, tests and benchmarks of this tree. This header is not
 * installed, and the shared library does not export its functions, so they can change whenever the
 * commands change. The rules at the start of <posixtrace.h> hold, but arguments are checked only as
 * far as the comments say.
 */
#ifndef PTRC_PRIVATE_H
#define PTRC_PRIVATE_H

#include <posixtrace-log.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct posixtrace_cursor;

/* The figures of posixtrace_get_counts(). The name of a member is pt_ followed by the name of the
 * figure (lib/api/figures.c). */
struct ptrc_counts {
	/* Events lost in the stream: they were overwritten before they were read (in a stream
	 * with a log: before they were flushed), or were not recorded because there was no room. */
	unsigned long pt_lost_events;
	/* Events lost in the log: they were overwritten in the log, discarded, or too large for
	 * the log. */
	unsigned long pt_log_lost_events;
	/* Events of the operating system that the kernel has lost, so that the trace never got
	 * them. In a log, this figure is at most 2^32 - 1. */
	unsigned long pt_unobserved_events;
	/* Number of events in the log now, and the bytes of these events. For a stream, this
	 * includes events in files of a rotated log that were deleted since. */
	unsigned long pt_log_events;
	unsigned long pt_log_bytes;
	/* Bytes of the events in the stream that were not read yet (in a stream with a log: not
	 * flushed yet). */
	unsigned long pt_stream_bytes;
	/* How often a traced process has mapped the stream; 0 for a log. A process is counted when
	 * it is forked, records its first event or calls posixtrace_attach(); a process that traces
	 * itself is counted when the stream is created. A process is counted once more for each
	 * program that it executes and that records an event. A clear does not reset this figure. */
	unsigned long pt_processes;
	/* Number of threads that have recorded an event. If a signal handler records an event
	 * while its thread is recording an event, this counts as one more thread. 0 for a log. A
	 * clear does not reset this figure. */
	unsigned long pt_threads;
	/* Events in the log that reading has left out since the log was opened or rewound.
	 * pt_gap_events: events between OVERFLOW and RESUME, which are left out because others
	 * around them were lost. pt_filtered_events: events whose type the filter excluded at
	 * their time. */
	unsigned long pt_gap_events;
	unsigned long pt_filtered_events;
	/* OVERFLOW and RESUME events that reading has made up, because of a gap, since the log
	 * was opened or rewound. They are not counted as events in the log. */
	unsigned long pt_made_up_events;
	/* What reading has skipped because of damage since the log was opened or rewound.
	 * pt_damaged_events: number of events, as far as it is known. pt_damaged_gaps: number of
	 * damaged places, each of which is reported by an OVERFLOW and a RESUME.
	 * pt_uncounted_gaps: number of those places in which the number of events is unknown. */
	unsigned long pt_damaged_events;
	unsigned long pt_damaged_gaps;
	unsigned long pt_uncounted_gaps;
	/* Number of processes that should have been traced and could not be, so that all their
	 * events are lost, and the cause for one of these processes: EMFILE, too few descriptors;
	 * ENOMEM, too little room in /dev/shm, memory or address space; EPROTO, the library of the
	 * program does not know the version of the stream; EXDEV, the process is in another pid or
	 * time namespace than the trace; EPERM, the process could not open the stream, because it
	 * had changed its user or root directory, or because system calls were forbidden to it. A
	 * process is counted when it records an event or, if it cannot even find its streams, when it starts.
	 * A clear does not reset these figures. */
	unsigned long pt_untraced_processes;
	unsigned long pt_untraced_error;
	/* Number of names of event types that got POSIX_TRACE_UNNAMED_USEREVENT, because the
	 * processes that share names with the traced process had TRACE_USER_EVENT_MAX types. It is
	 * a lower bound, at most 4096; the more names there are, the less exact it is. The count
	 * starts when these processes open their first name. A clear does not reset this figure. */
	unsigned long pt_refused_names;
	/* Names of event types that cannot be read from the log because of damage. If the log
	 * has no end, there may be more. */
	unsigned long pt_missing_names;
	/* pt_waits: how often event calls have waited for room in the stream
	 * (posixtrace_attr_setfullwait). pt_wait_ns: the sum of these waits in ns; if two threads
	 * wait for a second at the same time, the sum is two seconds. The time of a current wait
	 * is included. */
	unsigned long pt_waits;
	unsigned long pt_wait_ns;
	/* Events in the log that reading has skipped since the log was opened or rewound, because
	 * they are not selected by posixtrace_log_select(). */
	unsigned long pt_skipped_events;
	/* Number of damaged parts of the log that contain no events, among the parts read so far:
	 * a copy of the header, the index, the descriptions of machine, processes, threads and
	 * clocks, and bytes where a packet should be. */
	unsigned long pt_damaged_parts;
	/* For a log that was written by posixtrace_log_writer_open() and the like.
	 * pt_source_damaged_events: events that are missing because the source of the log was
	 * damaged. pt_source_missed_events: events that are missing because the program that
	 * wrote the log was too slow to read them. pt_is_source_uncounted: 1 if an unknown number
	 * of further events may be missing, because of damage of the source or because the source
	 * had no end; else 0. */
	unsigned long pt_source_damaged_events;
	unsigned long pt_source_missed_events;
	unsigned long pt_is_source_uncounted;
	/* Events that are missing from a closed log because its last flush failed
	 * (posix_stream_flush_error), as far as their number is known. */
	unsigned long pt_unwritten_events;
	/* For a rotated log that was opened by its path (posixtrace_log_open). pt_files: number of
	 * its files. pt_missing_files: number of files that are missing between these files, plus 1
	 * if further files followed the last file. pt_earlier_files: number of files that preceded
	 * the first file. pt_deleted_files: how many of these the library deleted, because the
	 * attribute log-rotation (pt_keep) allows no more files. pt_earlier_events: number of
	 * events in the files that preceded the first file. */
	unsigned long pt_files;
	unsigned long pt_missing_files;
	unsigned long pt_earlier_files;
	unsigned long pt_deleted_files;
	unsigned long pt_earlier_events;
	/* pt_missing_events: number of events in the files that are missing between others; 0 if
	 * unknown. pt_file_gaps and pt_file_gap_events: the parts of pt_damaged_gaps and
	 * pt_damaged_events whose cause is missing files and not damage. */
	unsigned long pt_missing_events;
	unsigned long pt_file_gaps;
	unsigned long pt_file_gap_events;
	/* For a log that was written by posixtrace_log_writer_open() and the like: number of
	 * damaged parts without events, and of unreadable names of event types, in the source of
	 * its events; at most 65535. If it is not 0, descriptions of machine, processes and clocks
	 * may be missing from the log, and event types may have numbers as names. */
	unsigned long pt_source_damaged_parts;
	/* For a rotated log that was opened by its path: 1 if the last file says that another file
	 * follows, but no such file exists; else 0. If it is 1, the log has no end, and the numbers
	 * of missing files and events are unknown. */
	unsigned long pt_is_last_file_missing;
	/* Length in bytes of the largest data that was truncated to max-data-size since the
	 * creation or the last clear. 0: no data was truncated, or the log has no end. In a log,
	 * this figure is at most 2^32 - 1. */
	unsigned long pt_data_needed;
	/* If pt_untraced_error is EPROTO, two versions of the layout of the shared memory: the
	 * newest version that the library of the untraced process knows, << 8, plus the version of
	 * the stream or of the event names that it refused. 0: unknown. */
	unsigned long pt_untraced_versions;
	/* For a stream with a rotated log: the error number with which the last attempt to make the
	 * next file of the log has failed, and the number in the name of that file. 0: it has not
	 * failed. After a failure the log goes on in the file before, so no event is lost. */
	unsigned long pt_rotation_error;
	unsigned long pt_rotation_file;
	/* The part of pt_gap_events that is older than events which the log, a ring, has overwritten.
	 * pt_log_events counts them, too. */
	unsigned long pt_ring_gap_events;
};

/*
 * Fills in the counts. Members that have no meaning are 0: for a stream without a log, the members
 * about a log; for a log, the members about stream memory, processes, threads and rotation; for an
 * active stream, the members from pt_gap_events to pt_uncounted_gaps, pt_missing_names,
 * pt_skipped_events, pt_ring_gap_events, and the members from pt_damaged_parts to
 * pt_is_last_file_missing.
 *   EINVAL  neither an active stream nor an open log.
 */
int ptrc_trace_counts(trace_id_t, struct ptrc_counts *);

struct ptrc_ending_facts {
	/* Not 0: the target has ended. pe_status: its exit status, or -1 if a signal ended it.
	 * pe_signal: that signal, or 0. */
	int pe_has_ended;
	int pe_status, pe_signal;
	/* The number of traced processes that are still running. */
	unsigned int pe_processes;
};

/*
 * Sets which events the keeper adds at the end of the stream's log: an event os.command if the
 * target has ended, and an event os.went_on if traced processes are still running. Both are events
 * of the target, and no filter or pattern excludes them. The events and their names exist only in
 * this log, not in the stream, so another log of the same processes has neither. A log into which a
 * stream without a log is salvaged gets these events, too. Their time is that of the first call
 * with facts.
 *
 * With a null pointer nothing is known: a log that is closed after this call gets neither event.
 * But if the controller dies while a traced process, such as the target, is running, the log gets
 * os.went_on.
 *   EINVAL  not an active stream.
 */
int ptrc_trace_set_ending(trace_id_t, const struct ptrc_ending_facts *);

/*
 * Shuts the stream down as posix_trace_shutdown() does, and stores the final counts:
 * pt_log_events is then the number of events written to the log, even if the log is a pipe.
 *   EINVAL  not an active stream; nothing was done.
 *   ECHILD  the keeper of the log has died, and so has each keeper that was started in its place.
 *           The identifier is invalid, but the events still exist: the next
 *           posix_trace_create_withlog() of the user, or posixtrace_salvage_orphan(), finishes the
 *           log.
 *   others  as posix_trace_shutdown(): the stream is gone and *counts is filled in.
 */
int ptrc_trace_shutdown(trace_id_t, struct ptrc_counts *);

/*
 * Makes the keeper give up the log of an active stream if the log is a FIFO, socket or device
 * that accepts no data for one second. A flush or shutdown that waits for the log in another
 * thread then ends with ECANCELED, and so does each later flush or shutdown; events that were not
 * written are not in the log. A log that still accepts data is not given up. The function itself
 * returns at once. It may be called in every thread, even while the stream is shut down.
 *   EINVAL  not an active stream with a log.
 */
int ptrc_trace_give_up_log(trace_id_t);

/* Returns the error number with which the last flush of an active stream has failed; else 0. Resets
 * nothing. */
int ptrc_trace_flush_error(trace_id_t);

/* Whether the file to which the log of an active stream is being written, the last file of a
 * rotated log, is no longer at its path, because it was moved or deleted. Also true if there is no
 * log, or it is no regular file. */
bool ptrc_trace_is_log_gone(trace_id_t);

/*
 * Stores the pid of the keeper, the process that writes the log of an active stream. If the
 * keeper was killed, another keeper is started first. Until another keeper runs, nothing is
 * flushed, and the stream may fill up and lose events. posix_trace_get_status(),
 * posixtrace_get_type_counts() and the calls that give the keeper a command, such as
 * posix_trace_flush(), also start another keeper. A program that makes none of these calls for a
 * long time can watch the keeper by pidfd_open(2), and call this function when the keeper has
 * ended. The keeper is no child of the caller, so wait(2) does not report its end.
 *   EAGAIN  the keeper has ended, and another thread is about to start the next keeper, or a limit
 *           on processes allows no other keeper.
 *   EINVAL  not an active stream with a log.
 *   ENOMEM  no other keeper can be started.
 */
int ptrc_trace_keeper(trace_id_t, pid_t *);

/* Salvages an orphan as posixtrace_salvage_orphan() does, and stores the number of events that were
 * written, including those for which a full log had no room. */
int ptrc_salvage_orphan(uint64_t id, const char *path, char *written, unsigned long *events);

/* Ends and removes the user's streams whose controllers were killed and that have no events to
 * write. They are no orphans, but become orphans when a process that still runs records an event. */
void ptrc_end_empty_streams(void);

/* Closes the log as posixtrace_log_writer_close() does, with counts in place of figures. */
int ptrc_log_copy_close(struct posixtrace_log_writer *, const struct ptrc_counts *);

/*
 * A part: events from a cursor in the form of a piece of a log, to be sent over a pipe or a
 * socket. All parts of a cursor together are a complete log. ptrc_log_open_parts() reads it part
 * by part; or it can be written into a file and read by posix_trace_open().
 */
struct ptrc_part {
	/* Valid until the next part, or until the cursor is closed. */
	const void *pt_bytes;
	size_t pt_length;
	/* events in the part */
	unsigned long pt_events;
	/* not 0: an event in the part reports that the stream has lost events */
	int pt_has_gap;
	/* not 0: events may have been consumed before the cursor could read them, before, among or directly after
	 * those of the part */
	int pt_may_lack;
	/* not 0: there may be more events for another part */
	int pt_is_more;
};

/*
 * Reads the next events, as posixtrace_cursor_trygetnext_event() does, into a part of at most about
 * 64 KiB; a single event may make it larger. The first part contains the start of a log, even if
 * there is no event; later parts are empty if there is no event. Names of event types and
 * descriptions of processes precede the events. The types have the same identifiers as in the
 * stream. For the description of a process the call reads files in /proc. Once ptrc_cursor_end_part()
 * was called, a part whose pt_may_lack differs from that of the part before it starts with the status and the
 * counts of that call, and its log overrun has the value of pt_may_lack.
 *   EINVAL  the stream was shut down.
 *   ENOMEM  no memory: events may be missing, and each later call returns ENOMEM, too.
 */
int ptrc_cursor_get_part(struct posixtrace_cursor *, struct ptrc_part *);

/*
 * Makes a part without events that contains the status and the counts of a log: losses in the
 * stream and in the log, untraced processes, refused names, and waits of events. is_end: this is
 * the last part, which completes the log. The stream may have been shut down before.
 *   EINVAL  no part was read before.
 *   ENOMEM  as for ptrc_cursor_get_part().
 */
int ptrc_cursor_end_part(struct posixtrace_cursor *, const struct posix_trace_status_info *,
			 const struct ptrc_counts *, bool is_end, struct ptrc_part *);

/*
 * Opens a log that arrives in parts, from a pipe or a socket, and stores an identifier, which
 * posix_trace_close() closes. The caller passes at least the first 1760 bytes of the log, which are
 * its header. The functions that read logs report the events that have arrived; after the last of
 * these they report that there is no event. Packets, the pieces of a log that hold events, are read
 * in the order of their arrival.
 *
 * posix_trace_rewind() and posixtrace_log_select() refuse such a log with EINVAL, because the
 * parts are not kept. Its status and counts are the last that have arrived; before any have
 * arrived, the status is that of a log that was not closed. One thread at a time may use the log.
 * Damage ends the reading: at a damaged packet, the functions that read events return EPROTO, and
 * they return it again at each later call.
 *   EINVAL  the bytes are not the first of a log, or too few; the log is of a kind that cannot be
 *           sent through a pipe.
 *   EPROTO  this library does not know the version of the log.
 *   ENOMEM  no memory.
 */
int ptrc_log_open_parts(const void *bytes, size_t size, trace_id_t *);

/*
 * Adds the next bytes of the log, any number of them. If is_complete is not NULL, stores there
 * whether the log is complete now; no bytes may follow a complete log. Pointers from
 * posixtrace_log_get_process() and the like become invalid; blocks of events stay valid. The
 * library keeps the bytes in memory until their events are read.
 *   EINVAL  not a log that arrives in parts.
 *   EPROTO  this is no part of the log, or an earlier call has failed.
 *   ENOMEM  no memory.
 */
int ptrc_log_add_part(trace_id_t, const void *bytes, size_t size, int *is_complete);

/*
 * Selects events as posixtrace_log_select() does and, if `always` is not NULL, also the events of
 * the types in `always`, whatever their times, the event after each of them, and each OVERFLOW and
 * RESUME for damage that is found without reading the other parts.
 */
int ptrc_log_select(trace_id_t, const struct posixtrace_span *, size_t count,
		    const trace_event_set_t *types, const trace_event_set_t *always);

/*
 * Returns to the first event of a log, and selects reading part by part. A part of a log has at
 * most about 256 KiB. The parts are read in the order in which they were written, from number
 * `first` (0: from the start) up to the part before number `end` (ULONG_MAX: all parts). So if a
 * log that is still being written is opened again after it has grown, it starts with the same
 * events in the same order, and the new events follow. Within a part, events are in the order of
 * time. In most logs the next part has no earlier events; events that an observer has added late
 * are an exception. This mode of reading holds until the next call of this function or of
 * posixtrace_log_select(), even after posix_trace_rewind().
 *   EINVAL  not an open log; a log that arrives in parts (ptrc_log_open_parts); ptrc_log_refresh()
 *           has forgotten part `first`.
 *   ENOMEM  no memory; nothing was done.
 */
int ptrc_log_select_parts(trace_id_t, unsigned long first, unsigned long end);

/* The position in a log that is read in parts. */
struct ptrc_reading_place {
	/* identifies the log: the same in all files of a log, and different for each log; not 0 */
	unsigned long pl_log_id;
	/* pl_first_part: number of the first part that exists; it is not 0 if the first files of
	 * a rotated log were deleted. pl_end_part: one more than the number of the last part. */
	unsigned long pl_first_part, pl_end_part;
	/* The position, if ptrc_log_select_parts() was called: pl_events events of part number
	 * pl_part have been read. If the caller later starts at part pl_part, it first gets these
	 * pl_events events again, and then those that it has not read yet. */
	unsigned long pl_part, pl_events;
};

/*
 * Stores the position. pl_part and pl_events are 0 if the log is not read in parts.
 *   EINVAL  not an open log.
 */
int ptrc_log_get_place(trace_id_t, struct ptrc_reading_place *);

/*
 * Finds out whether an open file is one of the files that this log is read from.
 *   ENOENT  it is none of them; a log that arrives in parts (ptrc_log_open_parts) has none.
 *   EINVAL  not an open log.
 */
int ptrc_log_find_file(trace_id_t, int fd);

/*
 * Reads what was written to a log since it was opened or since the last call of this function. The
 * time that this takes depends on how much was written and on how much follows the start of part
 * `first`, but not on the size of the log. The parts before number `first` are forgotten:
 * afterwards the log behaves as if it had just been opened and started with part `first`, except
 * that its counts cover the whole log. The selections of posixtrace_log_select() and
 * ptrc_log_select_parts() end. Pointers from posixtrace_log_get_process() and the like become
 * invalid. No other thread may use the log during the call.
 *   EINVAL  not an open log; a log that arrives in parts (ptrc_log_open_parts).
 *   ESTALE  the log can only be closed, and opened again to find out what happened to it. Its
 *           writer has closed it, or it was truncated, overwritten or damaged. Or it cannot be
 *           refreshed because it is rotated (posixtrace_attr_setlogrotation) or overwrites its
 *           oldest events.
 *   ENOMEM  no memory; the log can only be closed.
 */
int ptrc_log_refresh(trace_id_t, unsigned long first);

/*
 * Checks a closed log for damage. A closed log describes each of its parts in several places. The
 * function compares these descriptions, and stores the number of parts whose descriptions differ.
 * If this number is not 0, the log is damaged, even if all its events can be read. The function
 * looks at all parts but at no events: to find out whether events are damaged, read all events
 * without a selection, and then call posixtrace_get_counts(). The position does not change. The
 * number is 0 for a log without descriptions, for which posixtrace_get_type_counts() returns
 * ENODATA.
 *   EINVAL  not an open log.
 *   ENOMEM  no memory.
 */
int ptrc_log_verify(trace_id_t, unsigned long *);

/*
 * Opens for reading the last file of the log at this path: the file that the keeper writes, or
 * wrote last. If the log is not rotated, or if the path is that of a later file of a rotated log,
 * this is the file at the path. The caller closes *fd.
 *   others  as for posixtrace_log_open().
 */
int ptrc_log_open_last(const char *path, int *fd);

/*
 * Finds the stream of a log whose controller and keeper were killed: its identifier, and the user in whose directory in
 * /dev/shm it is. Only root finds streams of other users. Looks at no contents of the stream.
 *   ENOENT  there is none, or it cannot be found out.
 *   others  as for posixtrace_log_open().
 */
int ptrc_log_find_left(const char *path, uint64_t *stream, uid_t *user);

/*
 * An observer records events of other threads into a stream, a moment after they have occurred:
 * for example events that the operating system reports to the stream's controller. In the log,
 * these events are in the order of their times. A live reader and a cursor report them when they
 * are added, possibly after events that occurred later.
 *
 * The thread that opens an observer also closes it, and must not end before. Other threads may
 * use it, one at a time. A forked child does not have its parent's observers. If an observer is
 * not closed, it ends with its thread.
 */
struct ptrc_observer;

struct ptrc_observed {
	/* The time of the event by CLOCK_MONOTONIC. If it is earlier than that of the previous
	 * event, the event gets the time of the previous event. */
	struct timespec po_time;
	/* posix_pid and posix_tid of the event */
	pid_t po_pid, po_tid;
	/* from ptrc_observer_type() */
	trace_event_id_t po_event;
	const void *po_data;
	size_t po_size;
};

/*
 * Opens an observer for an active stream, which may be running or suspended.
 *   EINVAL  not an active stream.
 *   ENOMEM  no memory.
 */
int ptrc_observer_open(trace_id_t, struct ptrc_observer **);

/*
 * Stores the identifier of the event type with this name, as posix_trace_trid_eventid_open()
 * does, and gives the type this layout (NULL: no layout). The caller has checked the layout.
 *   EINVAL        the stream was shut down.
 *   ENAMETOOLONG  the name is too long.
 *   EEXIST, ENOSPC, ENOMEM  as posixtrace_eventid_open_layout().
 */
int ptrc_observer_type(struct ptrc_observer *, const char *name, const char *layout,
		       trace_event_id_t *);

/*
 * Adds `count` events. An event is recorded if the stream is running now and filter and patterns
 * accept its type. Data beyond max-data-size is cut off. If the stream is full, the event waits or
 * is lost, like an event that a traced thread records. But it waits at most one second after room
 * was last made, and not at all if the log cannot be written. `unobserved` is the number of events
 * that the caller could not observe; the stream counts them.
 *   EINVAL  the stream was shut down.
 */
int ptrc_observer_add(struct ptrc_observer *, const struct ptrc_observed *, size_t count,
		      unsigned long unobserved);

/*
 * Adds a description of a process to the log, in the form of posixtrace_log_get_process() and
 * posixtrace_log_get_mapping() but with times of CLOCK_MONOTONIC. pp_size, pp_has_ended and pm_size
 * are ignored. If the keeper has described the same process itself, readers of the log get the
 * keeper's description. If is_addition, the mappings are added to those that the log already has
 * for the program that the process runs. Does nothing for a stream without a log.
 *   EINVAL  the stream was shut down.
 */
int ptrc_observer_add_process(struct ptrc_observer *, const struct posixtrace_log_process *,
			      const struct posixtrace_log_mapping *, bool is_addition);

/*
 * Makes the keeper describe a process in the log now, and waits until it has looked at the
 * process, at most 20 ms.
 *   EINVAL     the stream was shut down.
 *   ETIMEDOUT  the keeper has not looked within 20 ms, or the stream has no log.
 */
int ptrc_observer_look(struct ptrc_observer *, pid_t);

/*
 * Returns CLOCK_MONOTONIC of the caller minus that of the machine, in ns, or 0 if this is unknown.
 * They differ in a time namespace. The kernel's perf events have times of the machine.
 */
int64_t ptrc_observer_clock_offset(void);

/* Closes an observer. The pointer may be NULL, and the stream may have been shut down. */
void ptrc_observer_close(struct ptrc_observer *);

/*
 * The following functions inspect another process, or this user's shared objects, to find out why
 * nothing is recorded; ptrace-doctor uses them. They create and change nothing. When they return,
 * the state that they report may already have changed.
 */
struct ptrc_inspected_process {
	/* The user in whose directory the shared objects of the process are: its effective user, or root if
	 * pt_is_traced_as_root. */
	uid_t pt_user;
	/* pt_inner_pid: the pid that the process has in its own pid namespace. pt_depth: how many
	 * levels this namespace is below the caller's; 0: it is the same namespace. */
	pid_t pt_inner_pid;
	unsigned int pt_depth;
	/* Not 0: the process has a page, the shared object that lists the streams that trace it.
	 * The process itself or its controller has made the page. A program that is not traced and
	 * has opened no event name needs none. */
	int pt_has_page;
	/* Not 0: the library was initialised in the program that the process now runs. */
	int pt_has_library;
	/* Not 0: root started the process, and traces it since before it changed its user. No other stream can
	 * trace it. Known only to a caller that is root. */
	int pt_is_traced_as_root;
	/* pt_streams: number of streams that trace the process. pt_events: number of event names
	 * that were opened by the process and by the processes that share names with it by fork. */
	unsigned int pt_streams;
	unsigned int pt_events;
	/* pt_refused_names: a lower bound for the number of names beyond TRACE_USER_EVENT_MAX, as
	 * in struct ptrc_counts. pt_refused_name: the first of these names. */
	unsigned long pt_refused_names;
	char pt_refused_name[TRACE_EVENT_NAME_MAX + 1];
	/* Not 0: the caller's library does not know the version of the shared memory in which the
	 * event names of the process are. The value is the newest version that the caller's library
	 * knows, << 8, plus the version of that memory. */
	unsigned int pt_names_versions;
};

struct ptrc_inspected_stream {
	/* The error number with which the process failed to map the stream, or 0. If it is EPROTO,
	 * pt_versions has two versions of the layout of the shared memory: the newest one that the
	 * library of the process knows, << 8, plus that of the stream or of its event names. */
	int pt_error;
	unsigned int pt_versions;
	/* The process that controls the stream, and the keeper if the stream has a log.
	 * pt_is_controlled and pt_is_kept: whether the controller and the keeper are alive. */
	pid_t pt_controller;
	pid_t pt_keeper;
	int pt_is_controlled;
	int pt_is_kept;
	/* The process for which the stream was created. The stream may also trace processes that
	 * were forked from it. */
	pid_t pt_target;
	int pt_has_log;
	int pt_full_policy;
	unsigned long pt_lost_events, pt_unobserved_events;
	/* The status as posix_trace_get_status() would report it. Nothing is reset. */
	struct posix_trace_status_info pt_status;
	trace_event_set_t pt_filter;
	char pt_name[TRACE_NAME_MAX];
	/* The path of the log; empty if there is none, or it is unknown. */
	char pt_log[4096];
};

struct ptrc_inspected_system {
	/* 0, or why the user's directory of shared objects cannot be used. ENOENT: it does not
	 * exist yet, which is no error. EPERM: it is not safe to use. ENOMEM: memory or
	 * descriptors are exhausted. */
	int pt_directory_error;
	/* 0, or why the file `bells` in that directory cannot be used. Each program that has the
	 * library maps this file, and it is made here if it is missing. EPERM: something else has
	 * its name, or it is not safe to use. */
	int pt_bells_error;
	/* Number of active streams of the user, at most TRACE_SYS_MAX. */
	unsigned int pt_streams;
	/* pt_has_counter: the processor's counter can be used as a clock. pt_has_barrier:
	 * membarrier(2) is available. If one of these is 0, the library is slower. */
	int pt_has_counter;
	int pt_has_barrier;
	/* Number of orphans that were dropped because there were too many, since the last call of
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

/* The number of streams that trace a process or, if no program with the library has run in it yet, that would
 * trace such a program. 0 also after an error. */
unsigned int ptrc_inspect_traces(pid_t);

/* The newest version of the shared memory that the library of the caller knows. */
unsigned int ptrc_shared_version(void);

/*
 * ptrc_inspect_stream() reports a stream that traces the process, and ptrc_inspect_event() the
 * identifier and name of an event type of the process. Both are numbered from 0. The buffer for
 * the name has TRACE_EVENT_NAME_MAX + 1 bytes; the name is empty if a process was stopped or
 * killed while it opened the name. pt_streams may still count a stream that has just ended, for
 * which the result is ENOENT.
 *   ENOENT  the number is too large.
 *   EPROTO  the caller's library does not know the version of the stream (pt_versions has the
 *           versions of the library and of the stream) or of the event names.
 *   others  as ptrc_inspect_process().
 */
int ptrc_inspect_stream(pid_t, unsigned int number, struct ptrc_inspected_stream *);
int ptrc_inspect_event(pid_t, unsigned int number, trace_event_id_t *, char *event_name);

/*
 * Stores the path of this user's directory of shared objects in /dev/shm, at most 64 bytes. If
 * is_create, creates the directory if it does not exist. The library and all commands use this
 * directory. Its name is posixtrace-<user> or, if another user has taken that name, a longer name
 * that starts with posixtrace-<user>.
 *   ENOENT  the directory does not exist yet; its future path is stored.
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
