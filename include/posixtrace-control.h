/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace-control.h>: additions to the standard for programs that control a trace: attributes,
 * patterns of names, cursors, and streams that outlived their controller. The rules of
 * <posixtrace.h> hold here, too. <posixtrace-log.h>, which this header includes, has the counts of
 * streams and logs.
 */
#ifndef POSIXTRACE_CONTROL_H
#define POSIXTRACE_CONTROL_H 1

#include <posixtrace-log.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The attribute full-wait: how long an event waits for room in a full stream instead of being lost.
 * It is for streams with the policy POSIX_TRACE_FLUSH, and has no effect on others. The default is
 * 0: no event waits.
 *
 * posix_trace_event() and posixtrace_event_for() then sleep until a flush has made room, and record
 * the event with the time after the sleep. If no flush makes room for as long as the full-wait, the
 * event is lost, and the stream stops as it does without a full-wait: further events are lost at
 * once, without a wait, until everything was flushed and the stream restarts. So a stream whose log
 * takes nothing delays each thread by one full-wait, and not by one for each event. A flush that
 * makes room starts the time anew.
 *
 * No event waits in vain: if it is larger than the stream; if the keeper and the process that
 * controls the stream are dead; if the log is a pipe without a reader, or was given up. Stopping,
 * clearing and ending the stream ends every wait. An event in a signal handler waits, too, even if
 * the signal has interrupted a wait; signals are handled as usual during a wait.
 * posix_trace_event() does not become a cancellation point.
 *
 * While events wait, nothing is lost: the stream keeps running, and its status is not FULL.
 * posixtrace_get_counts() reports how long they waited. Times longer than 292 years are shortened
 * to that.
 *   EINVAL  not an initialised attributes object; null pointer; negative, or tv_nsec is not below
 *           1,000,000,000.
 */
int posixtrace_attr_setfullwait(trace_attr_t *, const struct timespec *);
int posixtrace_attr_getfullwait(const trace_attr_t *, struct timespec *);

/* A log is rotated if it is continued in another file when the current one has at least pt_bytes
 * bytes (0: no limit) or is pt_time old (0: no limit). At most pt_keep files are kept, including
 * the current one (0: all). */
struct posixtrace_log_rotation {
	size_t pt_bytes;
	struct timespec pt_time;
	unsigned long pt_keep;
};

/* The least pt_bytes other than 0; the least pt_time is a second. */
#define POSIXTRACE_LOG_ROTATION_MIN 16384

/*
 * The attribute log-rotation. It is for logs with the policy POSIX_TRACE_APPEND in a regular file
 * that has a name, and has no effect on streams without a log. The default is all zero: the log is
 * one file.
 *
 * The first file of the log is the one that was given to posix_trace_create_withlog(). The names of
 * later files are that name with .000001, .000002 and so on appended. A number whose file exists
 * already is skipped. No file is ever renamed. Each file is a complete log, closed when the next is
 * begun, and each event is in exactly one of them.
 *
 * A file is closed only if it has an event, and after a flush. So it may exceed pt_bytes by the
 * size of a flush, at most that of the stream. If no other file can be begun, the log continues in
 * the current one, and posix_trace_get_status() reports the error. If there are too many files, the
 * oldest are deleted, and only files of this very log. posix_trace_clear() deletes all but the
 * last, and empties that.
 *   EINVAL  not an initialised attributes object; null pointer; pt_bytes or pt_time below the least;
 *           an invalid tv_nsec; pt_keep is 1.
 */
int posixtrace_attr_setlogrotation(trace_attr_t *, const struct posixtrace_log_rotation *);
int posixtrace_attr_getlogrotation(const trace_attr_t *, struct posixtrace_log_rotation *);

/*
 * Patterns select by name the event types that a stream records. They hold from the first event of
 * a name, whichever process opens it and when, even in processes that the trace has not reached
 * yet.
 */
#define POSIXTRACE_ONLY 1    /* record only names that match a pattern of this kind */
#define POSIXTRACE_EXCLUDE 2 /* do not record names that match */
/* The most patterns of a stream. */
#define POSIXTRACE_PATTERNS_MAX 256

struct posixtrace_pattern {
	/* POSIXTRACE_ONLY or POSIXTRACE_EXCLUDE. */
	int pt_how;
	/* Set by posixtrace_get_patterns(), ignored by posixtrace_set_patterns(): the pattern
	 * matches a name that exists. */
	int pt_has_matched;
	/* The pattern, null-terminated: as in a shell, * matches any bytes, ? any one byte,
	 * [a-z], [!a-z] and [[:digit:]] one of a set, and \\ makes the next byte literal. A
	 * pattern without these matches one name. Bytes count, in every locale; a bracket
	 * without its end is literal. */
	char pt_glob[TRACE_EVENT_NAME_MAX + 1];
};

/*
 * Replaces the patterns of an active stream by `count` others; 0 removes them. The caller keeps the
 * array. A user event type is recorded if its name matches a pattern of the kind ONLY, or there is
 * none of this kind, and if it matches none of the kind EXCLUDE. System event types are recorded
 * unless they match one of the kind EXCLUDE.
 *
 * Patterns and filter (posix_trace_set_filter) hold both: an event is recorded if neither excludes
 * it, and posix_trace_get_filter() reports both, as far as names exist. posix_trace_set_filter()
 * can override the patterns for types that exist: types that it removes from the filter
 * (POSIX_TRACE_SUB_EVENTSET), or omits from the filter that it sets (POSIX_TRACE_SET_EVENTSET), are
 * recorded until the stream is cleared, or patterns are set whose verdict on their names differs
 * from that of the patterns before. posix_trace_clear() keeps the patterns. If the stream is
 * running, and patterns change what is recorded of types that exist, a POSIX_TRACE_FILTER event is
 * recorded, as for posix_trace_set_filter(). No other call records one because of patterns: no
 * event of a name is recorded before the name is compared with them.
 *   EINVAL  not an active stream; null pointer and count not 0; an unknown pt_how; a pattern that
 *           is empty or has no null byte.
 *   E2BIG   more than POSIXTRACE_PATTERNS_MAX patterns.
 *   ENOMEM  no memory, or none in /dev/shm. The patterns have not changed.
 */
int posixtrace_set_patterns(trace_id_t, const struct posixtrace_pattern *, size_t count);

/*
 * Stores in *count the number of patterns of an active stream, and copies at most the first `size`
 * of them. posixtrace_set_patterns() with these changes nothing. Takes time in proportion to the
 * number of patterns times that of names.
 *   EINVAL  not an active stream; a null pointer (the array may be null if size is 0).
 *   ENOMEM  no memory.
 */
int posixtrace_get_patterns(trace_id_t, struct posixtrace_pattern *, size_t size, size_t *count);

/*
 * is_synced 0: when the stream is shut down, or its controller has died, its log is closed without
 * waiting for the disk, and a later write-back error is not reported. Otherwise, as without this
 * call, the shutdown waits for the disk, and returns the error (EIO, ENOSPC, EDQUOT and others) if
 * the log could not be written to it; the status in the log then has the error, too, if it can
 * still be read. A flush never waits for the disk, except for the flushes that finish an orphan
 * (see below). The last call counts.
 *   EINVAL  not an active stream with a log.
 */
int posixtrace_set_log_sync(trace_id_t, int is_synced);

/*
 * Sets whether the log of a stream gets the command lines of processes, which may hold secrets. The
 * default is yes. Call it before the stream is started: command lines recorded before stay in the
 * log.
 *   EINVAL  not an active stream.
 */
int posixtrace_set_command_line(trace_id_t, int is_wanted);

/*
 * A cursor is a position in an active stream of this process, from which events are read without
 * being consumed: other cursors, posix_trace_getnext_event() and the log get the same events. A
 * stream may have any number of cursors. One thread at a time may use a cursor. Cursors are not
 * valid in a forked child.
 */
struct posixtrace_cursor;

/* The cursor ends with the events recorded before it was opened, and reports earlier losses of
 * the stream by OVERFLOW and RESUME. */
#define POSIXTRACE_CURSOR_SNAPSHOT 1

/*
 * Opens a cursor before the oldest event of the stream. The flags are 0 or
 * POSIXTRACE_CURSOR_SNAPSHOT. The caller closes the cursor, before or after the stream is shut
 * down.
 *   EINVAL  not an active stream; a null pointer; unknown flags.
 *   ENOMEM  no memory.
 */
int posixtrace_cursor_open(trace_id_t, int flags, struct posixtrace_cursor **);

/*
 * Makes the cursor report only events of these types from now on, in addition to OVERFLOW and
 * RESUME. User events of other types cost it a few nanoseconds each. The last call counts. The set
 * may hold event types that do not exist yet: see posix_trace_eventset_fill().
 *   EINVAL  a null pointer; not an initialised event set; the stream was shut down.
 */
int posixtrace_cursor_select(struct posixtrace_cursor *, const trace_event_set_t *);

/*
 * Reports the next event as posix_trace_trygetnext_event() does. It may wait up to 100 ms for event
 * calls under way. If events were overwritten before the cursor reached them, OVERFLOW and RESUME
 * replace them. Events that were flushed to the log before are left out. A stream that is full and
 * stopped does not restart because a cursor has read it.
 *   EINVAL  a null pointer; the stream was shut down.
 *   ENOMEM  no memory.
 */
int posixtrace_cursor_trygetnext_event(struct posixtrace_cursor *, struct posix_trace_event_info *,
				       void *data, size_t num_bytes, size_t *data_len,
				       int *unavailable);

/*
 * Counts the events that the cursor has missed since it was opened or the stream was cleared:
 * events lost in the stream, and user events that were flushed before the cursor reached them.
 * Counting takes time in proportion to the events in the stream. While others record and flush, the
 * number may be wrong by some events; once the stream has stopped it is exact.
 *   EINVAL  a null pointer; the stream was shut down.
 */
int posixtrace_cursor_get_missed(struct posixtrace_cursor *, unsigned long *);

/* Frees the cursor. A null pointer is allowed. */
void posixtrace_cursor_close(struct posixtrace_cursor *);

/*
 * Orphans: streams whose controller was killed and which still hold events: plain streams with
 * events that no reader has got, and streams with a log whose keeper was killed, too, so that the
 * log is not finished. Each create of a stream finishes such logs; if it cannot, or if the stream
 * is plain, the stream stays in /dev/shm, where it takes memory, until it is salvaged or discarded.
 * At most 64 orphans with a log and 8 plain ones stay; the plain ones take at most half of
 * /dev/shm, and are removed if a new stream finds no memory. The oldest goes first, and is counted
 * as dropped. A stream that a living process controls is never an orphan.
 */
struct posixtrace_orphan {
	unsigned long pt_size;
	/* Identifies the stream. */
	uint64_t pt_id;
	/* 0, or why it cannot be salvaged. ENOTSUP: it is of another version of the library, and
	 * nothing else is known of it. EINVAL: its memory is damaged. ECHILD: the processes that
	 * were to write its log have died, possibly because of its memory; creates do not try
	 * again. ENOMEM. */
	int pt_error;
	int pt_has_log;
	/* The process that controlled it, and the one for which it was created. Other processes
	 * may have these pids now. */
	pid_t pt_controller;
	pid_t pt_target;
	/* Events that no reader has got (plain) or that are in no log, including system events;
	 * bytes of memory that the stream takes; its creation time. */
	unsigned long pt_events;
	unsigned long pt_memory;
	struct timespec pt_created;
	char pt_name[TRACE_NAME_MAX];
	/* The path of the log at its creation; empty if it had none. */
	char pt_log[4096];
};

/*
 * Reports one of the orphans of the caller's effective user, numbered from 0. The numbers change
 * when orphans appear or disappear.
 *   EINVAL  null pointer, or size below that of the first member.
 *   ENOENT  no such number.
 *   EPERM   the user's directory of shared objects is not safe to use.
 *   ENOMEM  no memory or no descriptor.
 */
int posixtrace_get_orphan(unsigned int number, struct posixtrace_orphan *, size_t);

/*
 * posixtrace_salvage_orphan(id, path, written) writes the events of the orphan into a log, finishes
 * the log, and removes the stream. The log is the orphan's own, if it is still at its path, under
 * another name in the same directory, or open in a process that the caller may inspect. Otherwise,
 * or if the log cannot be written, a new log gets the events that its own one does not have: at
 * `path`, or if that is null, at the old path with ".salvaged" appended. An existing file is never
 * replaced: ".2", ".3" and so on are appended. If `written` is not null it gets the path of the
 * log, in 4096 bytes. The call takes as long as writing the log does. Several processes may try at
 * the same time, and be killed while they do: no event is lost.
 *   ESRCH         no such orphan.
 *   EBUSY         its controller lives, or another process is salvaging it.
 *   ENOTSUP, EINVAL, ECHILD  see pt_error.
 *   EDESTADDRREQ  the stream is plain, and `path` is null.
 *   ENOENT        the directory of the new log does not exist.
 *   EPERM         the user's directory of shared objects is not safe to use; or the caller is in
 *                 a namespace where no process for the work can be made.
 *   EAGAIN        a limit on processes allows none that writes the log.
 *   ENOMEM        no memory, no descriptor.
 *   ENOSPC, EACCES, EROFS, EIO and others  why no log can be written, or brought to its disk.
 * After an error the stream still holds every event that is in no log.
 */
int posixtrace_salvage_orphan(uint64_t id, const char *path, char *written);

/*
 * Removes an orphan with its events. Id 0 resets the number of dropped orphans.
 *   ESRCH, EBUSY, EPERM, ENOMEM  as posixtrace_salvage_orphan().
 */
int posixtrace_discard_orphan(uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
