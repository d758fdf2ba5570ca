/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace-control.h>: additions to the standard for programs that control a trace:
 * attributes, patterns of names, cursors, and streams that outlived their controller. The rules
 * at the start of <posixtrace.h> hold here, too. This header includes <posixtrace-log.h>, which
 * declares the counts of streams and logs. Each function has a page in section 3 of the manual,
 * which lists its errors.
 */
#ifndef POSIXTRACE_CONTROL_H
#define POSIXTRACE_CONTROL_H 1

#include <posixtrace-log.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The attribute full-wait: how long an event waits for room if a stream with the policy
 * POSIX_TRACE_FLUSH is full. The default is 0: the event does not wait and is lost. If no flush
 * makes room in this time, the event is lost, and the stream stops until everything was flushed.
 * Meanwhile no event waits, so a log that accepts no data delays each thread only once. The setter
 * returns EINVAL for a negative time; a time longer than 292 years counts as 292 years.
 */
int posixtrace_attr_setfullwait(trace_attr_t *, const struct timespec *);
int posixtrace_attr_getfullwait(const trace_attr_t *, struct timespec *);

/* Says when a log is rotated, that is, continued in another file: as soon as its current file has
 * at least pt_bytes bytes (0: no limit) or is pt_time old (0: no limit). At most pt_keep files of
 * the log are kept, including the current file (0: all files; 1 is EINVAL). */
struct posixtrace_log_rotation {
	size_t pt_bytes;
	struct timespec pt_time;
	unsigned long pt_keep;
};

/* The least value of pt_bytes other than 0, in bytes. The least value of pt_time other than 0 is
 * one second. */
#define POSIXTRACE_LOG_ROTATION_MIN 16384

/*
 * The attribute log-rotation. It requires the log-full policy POSIX_TRACE_APPEND and a regular
 * file that has a name. By default all members are 0: the log is not rotated.
 *
 * The name of a later file is that of the first file with .000001, .000002 and so on appended. A
 * number whose file name exists already is skipped. No file is renamed. Each file is a complete
 * log. A file is closed after a flush, so it may exceed pt_bytes by the size of a flush. If no new
 * file can be created, the log continues in the current file, and posix_trace_get_status() reports
 * the error. Only files of this log are ever deleted. posix_trace_clear() deletes all of them
 * except for the last, which it empties.
 */
int posixtrace_attr_setlogrotation(trace_attr_t *, const struct posixtrace_log_rotation *);
int posixtrace_attr_getlogrotation(const trace_attr_t *, struct posixtrace_log_rotation *);

/*
 * Patterns select by name the event types that a stream records. They apply to every event of a
 * name, no matter when and in which process the name is opened, even in processes that are traced
 * only later.
 */
#define POSIXTRACE_ONLY 1    /* record only names that match a pattern of this kind */
#define POSIXTRACE_EXCLUDE 2 /* do not record names that match */
/* The most patterns of a stream. */
#define POSIXTRACE_PATTERNS_MAX 256

struct posixtrace_pattern {
	/* POSIXTRACE_ONLY or POSIXTRACE_EXCLUDE */
	int pt_how;
	/* Not 0: the pattern matches the name of an existing event type. posixtrace_get_patterns()
	 * sets this member, and posixtrace_set_patterns() ignores it. */
	int pt_has_matched;
	/* The pattern, null-terminated. As in a shell, * matches any number of any bytes, ? matches
	 * any byte, [a-z], [!a-z] and [[:digit:]] match a byte of a set, and a backslash makes the
	 * next byte literal. A pattern without these characters matches one name. The locale makes
	 * no difference; a bracket without a closing bracket is literal. */
	char pt_glob[TRACE_EVENT_NAME_MAX + 1];
};

/*
 * Replaces the patterns of an active stream by these `count` patterns; 0 removes all patterns. A
 * user event type is recorded if its name matches a pattern of the kind ONLY, or if there is no
 * such pattern. Event types whose names match a pattern of the kind EXCLUDE are not recorded.
 * Patterns of the kind ONLY do not affect system event types.
 *
 * An event is recorded if neither the patterns nor the filter (posix_trace_set_filter) exclude
 * it. The set that posix_trace_get_filter() stores contains the existing event types that the
 * patterns exclude as well as those of the filter. posix_trace_set_filter() overrides the
 * patterns for existing event types. After an error the patterns have not changed.
 */
int posixtrace_set_patterns(trace_id_t, const struct posixtrace_pattern *, size_t count);

/*
 * Stores in *count the number of patterns of an active stream, and copies at most the first `size`
 * patterns. If all patterns were copied, passing the copies to posixtrace_set_patterns() leaves the
 * patterns unchanged.
 */
int posixtrace_get_patterns(trace_id_t, struct posixtrace_pattern *, size_t size, size_t *count);

/*
 * Sets whether a shutdown waits until the log is on the disk. If is_synced is 0, the log is closed
 * without waiting when the stream is shut down or its controller has died, and an error of the disk
 * after that is not reported. Otherwise the shutdown waits for the disk and returns its error; this
 * is the default. A flush never waits for the disk. If this function is called several times, the
 * last call takes effect.
 */
int posixtrace_set_log_sync(trace_id_t, int is_synced);

/*
 * Sets whether the command lines of traced processes, which may contain secrets, are written into
 * the log of a stream. By default they are. Call this before the stream is started: command lines
 * that were written before the call stay in the log.
 */
int posixtrace_set_command_line(trace_id_t, int is_wanted);

/*
 * A cursor is a position in an active stream of this process, from which events are read without
 * being consumed: other cursors, posix_trace_getnext_event() and the log get the same events. A
 * stream may have any number of cursors. One thread at a time may use a cursor. Cursors are not
 * valid in a forked child.
 */
struct posixtrace_cursor;

/* A flag of posixtrace_cursor_open() that makes the cursor a snapshot: it reports only events that
 * were recorded before it was opened. If the stream had lost events by then, it also reports a
 * POSIX_TRACE_OVERFLOW and a POSIX_TRACE_RESUME. */
#define POSIXTRACE_CURSOR_SNAPSHOT 1

/*
 * Opens a cursor that starts before the oldest event of the stream. The flags are 0 or
 * POSIXTRACE_CURSOR_SNAPSHOT. The caller closes the cursor, before or after the stream is shut
 * down. After the stream was shut down, all functions on the cursor but posixtrace_cursor_close()
 * return EINVAL.
 */
int posixtrace_cursor_open(trace_id_t, int flags, struct posixtrace_cursor **);

/*
 * Makes the cursor report only OVERFLOW, RESUME and events of these types from now on. The set
 * may contain event types that do not exist yet. What the cursor has passed on its way to the next
 * events of an earlier set, in any part of the stream, does not come again.
 */
int posixtrace_cursor_select(struct posixtrace_cursor *, const trace_event_set_t *);

/*
 * Reports the next event as posix_trace_trygetnext_event() does. If events were overwritten
 * before the cursor reached them, it reports OVERFLOW and RESUME instead. Events that were
 * flushed to the log before the cursor reached them are left out.
 */
int posixtrace_cursor_trygetnext_event(struct posixtrace_cursor *, struct posix_trace_event_info *,
				       void *data, size_t num_bytes, size_t *data_len,
				       int *unavailable);

/*
 * Counts the events that the cursor has missed since it was opened or the stream was cleared:
 * events lost in the stream, and user events that were flushed, or taken out by a reader of a stream
 * without a log, before the cursor reached them.
 * The call takes time in proportion to the number of events in the stream. While events are
 * recorded and flushed, the result may be wrong by some events.
 */
int posixtrace_cursor_get_missed(struct posixtrace_cursor *, unsigned long *);

/* Frees the cursor. The pointer may be null. */
void posixtrace_cursor_close(struct posixtrace_cursor *);

/*
 * An orphan is a stream that still holds events after its controller was killed: a stream without
 * a log, with events that were not read; or a stream with a log, if its keeper was killed too.
 * Each posix_trace_create() and posix_trace_create_withlog() of the user writes the events of
 * orphans into their logs. If that fails, or if the orphan has no log, the orphan stays in
 * /dev/shm, where it takes memory, until it is salvaged or discarded, or is dropped because there
 * are too many orphans. A stream whose controller is alive is never an orphan.
 */
struct posixtrace_orphan {
	unsigned long pt_size; /* bytes of this structure that were filled in */
	uint64_t pt_id;	       /* for posixtrace_salvage_orphan(), _discard_orphan() */
	/* 0, or why the orphan cannot be salvaged. ENOTSUP: this library does not know the version
	 * of the orphan's memory (pt_version), so the members after pt_version are 0. EINVAL: the
	 * memory is damaged. ECHILD: each keeper (process that writes a log) that was started for
	 * this orphan has died, possibly because the memory is damaged; creating a stream does not
	 * start another one. ENOMEM: the caller's memory is exhausted. */
	int pt_error;
	unsigned int pt_version;
	int pt_has_log;
	/* pt_controller: the process that controlled the stream. pt_target: the process for which
	 * the stream was created. Other processes may have these pids now. */
	pid_t pt_controller;
	pid_t pt_target;
	/* pt_events: number of events, including system events, that are not in the log or, for a
	 * stream without a log, were not read. pt_memory: bytes of memory that the stream takes.
	 * pt_created: creation time of the stream. pt_name: its trace name. */
	unsigned long pt_events;
	unsigned long pt_memory;
	struct timespec pt_created;
	char pt_name[TRACE_NAME_MAX];
	/* The path of the log when it was created; empty if the stream has no log, or if the log
	 * had no path. */
	char pt_log[4096];
};

/*
 * Stores information about orphan number `number` of the caller's effective user. The last argument
 * is the size of the structure in bytes. Orphans are numbered from 0; ENOENT: the number is too
 * large. The numbers change when orphans appear or disappear.
 */
int posixtrace_get_orphan(unsigned int number, struct posixtrace_orphan *, size_t);

/*
 * posixtrace_salvage_orphan(id, path, written) writes the events of the orphan into a log, finishes
 * the log, and removes the stream. The events go into the orphan's own log, if it can be found and
 * written. Otherwise they go into a new log, which gets only the events that the orphan's own log
 * does not have. The path of the new log is `path` or, if `path` is null, the path of the orphan's
 * log with ".salvaged" appended. An existing file is never replaced: ".2", ".3" and so on are
 * appended to the path. If `written` is not null, the path of the log is stored there, in a buffer
 * of 4096 bytes. After an error, the stream still holds every event that is in no log.
 */
int posixtrace_salvage_orphan(uint64_t id, const char *path, char *written);

/* Removes the orphan with this identifier, and its events. With id 0, removes nothing, but resets
 * to 0 the number of orphans that were dropped because there were too many. */
int posixtrace_discard_orphan(uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
