/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace-control.h>: additions to the standard for programs that control a trace: attributes,
 * patterns of names, cursors, and streams that outlived their controller. The rules of
 * <posixtrace.h> hold here, too. <posixtrace-log.h>, which this header includes, has the counts of
 * streams and logs. Each function has a page in section 3 of the manual, which lists its errors.
 */
#ifndef POSIXTRACE_CONTROL_H
#define POSIXTRACE_CONTROL_H 1

#include <posixtrace-log.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The attribute full-wait: how long an event waits for room in a full stream with the policy
 * POSIX_TRACE_FLUSH, instead of being lost. The default is 0: no event waits. If no flush makes
 * room in this time, the event is lost and the stream stops until everything was flushed: so a log
 * that takes nothing delays each thread only once. The setter returns EINVAL for a negative time;
 * times longer than 292 years are shortened to that.
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
 * that has a name. The default is all zero: the log is one file.
 *
 * The names of later files are that of the first with .000001, .000002 and so on appended; an
 * existing file is skipped, and none is renamed. Each file is a complete log, closed after a flush,
 * so it may exceed pt_bytes by the size of a flush. If no other file can be begun, the log
 * continues in the current one, and posix_trace_get_status() reports the error. Only files of this
 * log are ever deleted; posix_trace_clear() deletes all but the last, and empties that.
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
 * Replaces the patterns of an active stream by `count` others; 0 removes them. A user event type is
 * recorded if its name matches a pattern of the kind ONLY, or there is none of this kind, and if it
 * matches none of the kind EXCLUDE. System event types are recorded unless they match one of the
 * kind EXCLUDE.
 *
 * An event is recorded if neither patterns nor filter (posix_trace_set_filter) exclude it.
 * posix_trace_get_filter() reports both, as far as names exist, and posix_trace_set_filter()
 * overrides the patterns for types that exist. After an error the patterns have not changed.
 */
int posixtrace_set_patterns(trace_id_t, const struct posixtrace_pattern *, size_t count);

/*
 * Stores in *count the number of patterns of an active stream, and copies at most the first `size`
 * of them. posixtrace_set_patterns() with these changes nothing.
 */
int posixtrace_get_patterns(trace_id_t, struct posixtrace_pattern *, size_t size, size_t *count);

/*
 * is_synced 0: when the stream is shut down, or its controller has died, its log is closed without
 * waiting for the disk, and a later write-back error is not reported. Otherwise, as without this
 * call, the shutdown waits for the disk and returns its error. A flush never waits for the disk.
 * The last call counts.
 */
int posixtrace_set_log_sync(trace_id_t, int is_synced);

/*
 * Sets whether the log of a stream gets the command lines of processes, which may hold secrets. The
 * default is yes. Call it before the stream is started: command lines recorded before stay in the
 * log.
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
 * down. All functions of a cursor but the last return EINVAL after that.
 */
int posixtrace_cursor_open(trace_id_t, int flags, struct posixtrace_cursor **);

/*
 * Makes the cursor report only events of these types from now on, in addition to OVERFLOW and
 * RESUME. The set may hold event types that do not exist yet.
 */
int posixtrace_cursor_select(struct posixtrace_cursor *, const trace_event_set_t *);

/*
 * Reports the next event as posix_trace_trygetnext_event() does. If events were overwritten before
 * the cursor reached them, OVERFLOW and RESUME replace them. Events that were flushed to the log
 * before are left out.
 */
int posixtrace_cursor_trygetnext_event(struct posixtrace_cursor *, struct posix_trace_event_info *,
				       void *data, size_t num_bytes, size_t *data_len,
				       int *unavailable);

/*
 * Counts the events that the cursor has missed since it was opened or the stream was cleared:
 * events lost in the stream, and user events that were flushed before the cursor reached them.
 * Takes time in proportion to the events in the stream. While others record and flush, the number
 * may be wrong by some events.
 */
int posixtrace_cursor_get_missed(struct posixtrace_cursor *, unsigned long *);

/* Frees the cursor. A null pointer is allowed. */
void posixtrace_cursor_close(struct posixtrace_cursor *);

/*
 * Orphans: streams whose controller was killed and which still hold events: plain streams with
 * events that no reader has got, and streams with a log whose keeper was killed, too. Each create
 * of a stream finishes such logs; if it cannot, or if the stream is plain, the stream stays in
 * /dev/shm, where it takes memory, until it is salvaged or discarded, or too many are left. A
 * stream that a living process controls is never an orphan.
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
 * Reports one of the orphans of the caller's effective user, numbered from 0; ENOENT: there are no
 * more. The numbers change when orphans appear or disappear.
 */
int posixtrace_get_orphan(unsigned int number, struct posixtrace_orphan *, size_t);

/*
 * posixtrace_salvage_orphan(id, path, written) writes the events of the orphan into a log, finishes
 * the log, and removes the stream. The log is the orphan's own, if it can be found and written.
 * Otherwise a new log gets the events that its own one does not have: at `path`, or if that is
 * null, at the old path with ".salvaged" appended. An existing file is never replaced: ".2", ".3"
 * and so on are appended. If `written` is not null it gets the path of the log, in 4096 bytes.
 * After an error the stream still holds every event that is in no log.
 */
int posixtrace_salvage_orphan(uint64_t id, const char *path, char *written);

/* Removes an orphan with its events. Id 0 resets the number of dropped orphans. */
int posixtrace_discard_orphan(uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
