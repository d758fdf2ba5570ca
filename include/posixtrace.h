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
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <trace.h>

/* The version of this header; posixtrace_version() returns that of the library. */
#define POSIXTRACE_VERSION "0.2.0-dev"

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
	/* Processes that should have been traced and could not be, so that all of their events are
	 * lost, and the cause for one of them: EMFILE, too few descriptors; ENOMEM, too little
	 * memory or address space; EPROTO, the program has a library of another version. A
	 * process counts when it records an event, or when it begins if it cannot even find out
	 * which streams should trace it. A clear does not reset this. */
	unsigned long pt_untraced_processes;
	int pt_untraced_error;
	/* Names of event types that got POSIX_TRACE_UNNAMED_USEREVENT, because the family of
	 * processes had TRACE_USER_EVENT_MAX types: at least so many different ones. The more
	 * there are, the more of them count together, and it never exceeds 4096. They count since
	 * the family opened its first name. A clear does not reset this. */
	unsigned long pt_refused_names;
	/* Names of event types that the log had and that cannot be read, as it is damaged. If the log
	 * has no end they are at least so many. */
	unsigned long pt_missing_names;
	/* How often event calls waited for room in the stream (posixtrace_attr_setfullwait), and for
	 * how long in all, ns: two threads that waited for a second waited two. A wait under way
	 * counts as far as it has got. */
	unsigned long pt_waits;
	unsigned long pt_wait_ns;
	/* Events in the log that reading has skipped since it was opened or rewound, because
	 * posixtrace_select() said so. */
	unsigned long pt_skipped_events;
	/* Parts of the log that have no events and are damaged, as far as they were looked at: the
	 * head, of which the log has a copy, and what tells of machine, processes and clocks. */
	unsigned long pt_damaged_parts;
	/* Of a log that was written by posixtrace_log_create() and its like: what it lacks of the
	 * events that it was to get, as their source was damaged, and as they came too fast for who
	 * wrote it. pt_is_source_uncounted is 1 if others may be missing whose number is not known, as
	 * the source was damaged there, too, or had no end. */
	unsigned long pt_source_damaged_events;
	unsigned long pt_source_missed_events;
	int pt_is_source_uncounted;
	/* Events that a closed log lacks because its last flush failed (posix_stream_flush_error), as far
	 * as their number is known. */
	unsigned long pt_unwritten_events;
	/* Of a rotated log that was opened by its path (posixtrace_open_log): how many files it has; how many
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
	/* Of a log that was written by posixtrace_log_create() and its like: damaged parts without events,
	 * and names of event types that could not be read, in what its events were read from; at most
	 * 65535. What the log says of machine, processes and clocks may be missing, and names may be
	 * numbers. */
	unsigned long pt_source_damaged_parts;
	/* 1 if the last file of such a rotated log says that another one follows, which is not there: so
	 * the log has no end, and the numbers of missing files and events are not known. Else 0. */
	int pt_is_last_file_missing;
	/* Bytes of the largest data that was cut to max-data-size since the creation or the last clear; 0:
	 * none was, or the log has no end. In a log at most 2^32 - 1. */
	unsigned long pt_data_needed;
};

/*
 * Fills in the first `size` bytes of *counts, where size is sizeof(struct posixtrace_counts).
 * Members without meaning are 0: those of the log for a plain stream; those of stream memory,
 * processes and threads for a pre-recorded one; those from pt_gap_events to
 * pt_uncounted_gaps, pt_missing_names, pt_skipped_events and those from pt_damaged_parts to pt_is_last_file_missing, for an active one. The members are read one after the other while recording goes on, so they may be some events apart.
 *   EINVAL  neither an active stream nor an open log; null pointer; size below that of the
 *           first member.
 */
int posixtrace_get_counts(trace_id_t, struct posixtrace_counts *, size_t);

/*
 * The attribute full-wait: how long an event waits when the stream has no room for it, instead of
 * being lost. It is for streams with the policy POSIX_TRACE_FLUSH, and has no effect on others. The
 * default is 0: nobody waits.
 *
 * posix_trace_event(), and posixtrace_event_for(), then sleep until a flush has made room, and
 * record the event with the time at which they do. If no flush makes room for as long as the
 * full-wait, the event is lost, and the stream stops as it does without a full-wait: what comes is
 * lost at once, without a wait, until everything was flushed and the stream restarts. So a stream
 * whose log takes nothing holds up each thread for one full-wait, and not for one each event. A
 * flush that makes room begins the time anew.
 *
 * No event waits if it could only wait in vain: it is larger than the stream; the keeper and the
 * process that controls the stream are dead; nobody reads the pipe that the log is; the log was
 * given up. Stopping, clearing and ending the stream ends every wait. An event in a signal handler
 * waits, too, also while the call that the signal interrupted waits: signals are handled as
 * usual meanwhile. posix_trace_event() is no cancellation point then either.
 *
 * While events wait, nothing is lost: the stream keeps running, and its status is not FULL.
 * posixtrace_get_counts() tells how long they waited.
 *   EINVAL  not an initialised attributes object; null pointer; negative, or tv_nsec is not below
 *           1,000,000,000.
 * A time that nobody lives to see, from some 292 years on, becomes that.
 */
int posixtrace_attr_setfullwait(trace_attr_t *, const struct timespec *);
int posixtrace_attr_getfullwait(const trace_attr_t *, struct timespec *);

/* A log that is rotated: when a file of it has pt_bytes bytes or more (0: any number), or was begun
 * pt_time ago (0: ever), the log goes on in another file. Of these files, the one that is being
 * written among them, pt_keep are kept at most (0: all). */
struct posixtrace_log_rotation {
	size_t pt_bytes;
	struct timespec pt_time;
	unsigned long pt_keep;
};

/* The least pt_bytes that is not 0; the least pt_time is a second. */
#define POSIXTRACE_LOG_ROTATION_MIN 16384

/*
 * The attribute log-rotation. It is for logs with the policy POSIX_TRACE_APPEND in a regular file
 * that has a name, and has no effect on streams without a log. The default is all zero: the log is one
 * file.
 *
 * The first file of the log is the one that was given to posix_trace_create_withlog(). The next is
 * called as that one, with .000001 behind the name, the one after that .000002. A file of that name
 * that is there already is left alone, and its number not used. No file is ever renamed. Each is a
 * whole log, closed when the next is begun, and each event is in exactly one of them.
 *
 * A file is closed only if it has an event, and when a flush is done. So it may exceed pt_bytes by as
 * much as a flush writes, which is what the stream holds. If no other file can be begun, the log
 * goes on in the one that it has, and posix_trace_get_status() tells of the error. Of those that
 * are too many the oldest are deleted, and only files of this very log. posix_trace_clear() deletes
 * all but the last, and empties that.
 *   EINVAL  not an initialised attributes object; null pointer; pt_bytes, pt_time less than the least;
 *           a tv_nsec that is none; pt_keep is 1.
 */
int posixtrace_attr_setlogrotation(trace_attr_t *, const struct posixtrace_log_rotation *);
int posixtrace_attr_getlogrotation(const trace_attr_t *, struct posixtrace_log_rotation *);

/*
 * Opens a log by its path, as posix_trace_open() does by a descriptor. If the log is rotated and the
 * path is that of its first file, also if that has been deleted, all of its files are opened as one
 * log. A path of another of its files stands for that file alone. Each file takes a
 * descriptor.
 *
 * Files that are missing between others are told as missing packets of a log are, by an
 * OVERFLOW and a RESUME; posixtrace_get_counts() tells how many files and events there
 * were before the first one that is there.
 *   EINVAL  the file is not a log that this library can read; null pointer.
 *   ENOMEM  no memory.
 *   EMFILE and other errors of open().
 */
int posixtrace_open_log(const char *, trace_id_t *);

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
 * Element 0 is for no type. Events count there if /dev/shm had no memory for the counts of their
 * types, which can happen to types with identifiers from 680 on.
 *
 * Counting takes time in proportion to the events in the stream, and resets nothing. While
 * events are flushed as fast as they are recorded, the numbers may be wrong by some events;
 * after the process that writes the log was killed, they may stay too small by some.
 *   EINVAL  not an active stream; null pointer and count not 0.
 */
int posixtrace_get_type_counts(trace_id_t, struct posixtrace_type_count *, size_t);

/* The most bytes that a layout can have, without its null byte. */
#define POSIXTRACE_LAYOUT_MAX 4096

/*
 * Opens the event type of this name, as posix_trace_eventid_open() does, and gives it a layout: a
 * text that says what the data of its events means, such as "u64 id, u32 rows, str sql".
 * posixtrace-layout(5) has the language. Streams and logs hand the layout out with the name, and the
 * commands show the data by it.
 *
 * A name has one layout: the first one stands, in all processes that share the name by fork and by
 * the streams that trace them, and in the logs of these streams. Opening it with the same text
 * stores the same identifier. Opening it with another text fails with EEXIST, so that no data is
 * taken for what it is not: who has to record nevertheless uses
 * POSIX_TRACE_UNNAMED_USEREVENT, or another name. Opening it with
 * posix_trace_eventid_open() stores the identifier of this same type: its events are to have the data
 * that the layout says. A type that was opened without a layout can get one later, which then is
 * that of its earlier events, too.
 *
 * If the process has as many types as there can be, it stores POSIX_TRACE_UNNAMED_USEREVENT, as
 * posix_trace_eventid_open() does, and this type never has a layout.
 *   EINVAL        null pointer; the name of a system event; no layout.
 *   EEXIST        the type has another layout; *event has not changed.
 *   ENAMETOOLONG  the name has more than TRACE_EVENT_NAME_MAX bytes, or the layout more than
 *                 POSIXTRACE_LAYOUT_MAX.
 *   ENOSPC        the layouts of all processes that share their names have 1 MiB.
 *   ENOMEM        no memory.
 */
int posixtrace_eventid_open_layout(const char *name, const char *layout, trace_event_id_t *event);

/*
 * Copies the layout of an event type of an active stream or of a log. The buffer has `size` bytes;
 * POSIXTRACE_LAYOUT_MAX + 1 are always enough. A log may have been written by an adversary, or by a
 * later release: the text may have any bytes but null bytes, and need not be a layout.
 *   EINVAL   neither an active stream nor an open log; not an event type of it; null pointer.
 *   ENODATA  the type has no layout.
 *   ERANGE   the layout has more bytes than that.
 */
int posixtrace_eventid_get_layout(trace_id_t, trace_event_id_t event, char *layout, size_t size);

/*
 * Events whose data is a structure, in C11. The layout of the event type is made of the members of the
 * structure, so that it cannot differ from it:
 *
 *	struct query { uint64_t id; uint32_t rows; char sql[64]; };
 *	POSIXTRACE_TYPE(query, "db.query", struct query, id, rows, sql);
 *	...
 *	POSIXTRACE_EMIT(query, .id = 1, .rows = 2, .sql = "select 1");
 *	POSIXTRACE_EMIT_FROM(query, &q);	with a struct query q
 *
 * POSIXTRACE_TYPE(TYPE, NAME, STRUCTURE, MEMBER...) stands outside of functions and declares a static
 * object TYPE, for up to 32 members: integers, enumerations, float, double, bool, char, arrays of these,
 * and void *, which is recorded as an address. An array of char is text, one of unsigned char is bytes.
 * Any other member, such as a pointer to text, is an error when this is compiled, which names the member.
 * Members that are not listed are not recorded. In C++ the macro itself is an error: <posixtrace.hpp> has
 * types for it.
 *
 * POSIXTRACE_EMIT(TYPE, .MEMBER = VALUE...) records an event; members that are not given are 0.
 * POSIXTRACE_EMIT_FROM(TYPE, POINTER) records the structure that the pointer leads to. They are like
 * posix_trace_event(): async-signal-safe, and no cancellation points. In a process that is not traced
 * they look at two words, and POSIXTRACE_EMIT does not evaluate the values. The data of the event ends with
 * the last member that is listed. Padding between members is recorded as zeros, as it might hold
 * anything: a structure that has such padding is copied first.
 *
 * The type opens itself with the first event that finds the process traced, which takes some system
 * calls, and up to 16 KiB of stack. Who cannot have that in a signal handler, or wants to know about
 * errors, calls posixtrace_open_type() before. Events of a type that cannot be opened, as its name has
 * another layout, are recorded as POSIX_TRACE_UNNAMED_USEREVENT: nobody takes their data for
 * what it is not.
 */
enum posixtrace_kind {
	POSIXTRACE_UNSIGNED = 1,
	POSIXTRACE_SIGNED,
	POSIXTRACE_ADDRESS,
	POSIXTRACE_FLOAT,
	POSIXTRACE_BOOL,
	POSIXTRACE_CHAR
};

/* A member of a structure. */
struct posixtrace_member {
	const char *pt_name;
	size_t pt_offset, pt_bytes;
	/* Of an element, if it is an array. */
	size_t pt_item_bytes;
	int pt_kind; /* enum posixtrace_kind */
	int pt_is_array;
};

/* What POSIXTRACE_TYPE declares. */
struct posixtrace_type {
	size_t pt_size; /* of this structure */
	const char *pt_name;
	const struct posixtrace_member *pt_members;
	size_t pt_member_count;
	/* The identifier, and the error number of opening the type; 0: it is not open. */
	trace_event_id_t pt_id;
	int pt_error;
};

/*
 * Opens a type now, if it is not open.
 *   EINVAL  null pointer; two members overlap.
 *   others  as posixtrace_eventid_open_layout().
 */
int posixtrace_open_type(struct posixtrace_type *);

/* For POSIXTRACE_EMIT: opens a type that is not open and returns its identifier; 0: the process is not
 * traced. Async-signal-safe. */
trace_event_id_t posixtrace_begin_type(struct posixtrace_type *);

#ifndef __cplusplus
#define POSIXTRACE_TYPE(type, name, structure, ...)                                              \
	typedef structure type##_posixtrace_data;                                                \
	POSIXTRACE_EACH_(POSIXTRACE_CHECK_, type##_posixtrace_data, __VA_ARGS__)                 \
	static const struct posixtrace_member type##_posixtrace_members[] = {                    \
		POSIXTRACE_EACH_(POSIXTRACE_MEMBER_, type##_posixtrace_data, __VA_ARGS__)};      \
	enum { /* Up to the end of the last member; and is that what all of them take? */        \
	       type##_posixtrace_bytes = sizeof(union {                                          \
		       POSIXTRACE_EACH_(POSIXTRACE_END_, type##_posixtrace_data, __VA_ARGS__)}), \
	       type##_posixtrace_is_dense =                                                      \
		       (0 POSIXTRACE_EACH_(POSIXTRACE_SUM_, type##_posixtrace_data,              \
					   __VA_ARGS__)) == type##_posixtrace_bytes              \
	};                                                                                       \
	__attribute__((unused)) static inline void type##_posixtrace_pack(                       \
		char *to_, const type##_posixtrace_data *from_)                                  \
	{                                                                                        \
		__builtin_memset(to_, 0, type##_posixtrace_bytes);                               \
		POSIXTRACE_EACH_(POSIXTRACE_COPY_, type##_posixtrace_data, __VA_ARGS__)          \
	}                                                                                        \
	__attribute__((unused)) static struct posixtrace_type type = {                           \
		sizeof(struct posixtrace_type),                                                  \
		name,                                                                            \
		type##_posixtrace_members,                                                       \
		sizeof(type##_posixtrace_members) / sizeof(type##_posixtrace_members[0]),        \
		0,                                                                               \
		0};                                                                              \
	struct posixtrace_type

#define POSIXTRACE_EMIT_FROM(type, pointer)                                         \
	do {                                                                        \
		trace_event_id_t posixtrace_id_ = POSIXTRACE_ID_(type);             \
		if (posixtrace_id_) {                                               \
			const type##_posixtrace_data *posixtrace_data_ = (pointer); \
			POSIXTRACE_PUT_(type, posixtrace_id_, posixtrace_data_);    \
		}                                                                   \
	} while (0)

#define POSIXTRACE_EMIT(type, ...)                                                     \
	do {                                                                           \
		trace_event_id_t posixtrace_id_ = POSIXTRACE_ID_(type);                \
		if (posixtrace_id_) {                                                  \
			const type##_posixtrace_data posixtrace_data_ = {__VA_ARGS__}; \
			POSIXTRACE_PUT_(type, posixtrace_id_, &posixtrace_data_);      \
		}                                                                      \
	} while (0)

/* ---- what the macros above are made of ---- */

#define POSIXTRACE_ID_(type)                                                        \
	(__builtin_expect(__atomic_load_n(&(type).pt_id, __ATOMIC_RELAXED) != 0, 1) \
		 ? __atomic_load_n(&(type).pt_id, __ATOMIC_RELAXED)                 \
		 : posixtrace_begin_type(&(type)))

#define POSIXTRACE_PUT_(type, id, pointer)                                                  \
	do {                                                                                \
		if (type##_posixtrace_is_dense) {                                           \
			posix_trace_event(id, pointer, type##_posixtrace_bytes);            \
		} else {                                                                    \
			char posixtrace_packed_[type##_posixtrace_bytes];                   \
			type##_posixtrace_pack(posixtrace_packed_, pointer);                \
			posix_trace_event(id, posixtrace_packed_, type##_posixtrace_bytes); \
		}                                                                           \
	} while (0)

/* A member of a structure that does not exist. */
#define POSIXTRACE_OF_(t, m) (((t *)0)->m)
/* By names, which is all that clang then shows of a condition that does not hold. */
#define POSIXTRACE_CHECK_(t, m)                                                            \
	enum {                                                                             \
		t##_##m##_is_no_pointer = POSIXTRACE_IS_NO_POINTER_(POSIXTRACE_OF_(t, m)), \
		t##_##m##_is_known = POSIXTRACE_CODE_OF_(POSIXTRACE_OF_(t, m)) != 0        \
	};                                                                                 \
	_Static_assert(t##_##m##_is_no_pointer,                                            \
		       "the pointer " #m " means nothing to who reads the event");         \
	_Static_assert(t##_##m##_is_known, "the type of the member " #m " cannot be recorded");
#define POSIXTRACE_MEMBER_(t, m)                          \
	{#m,                                              \
	 offsetof(t, m),                                  \
	 sizeof(POSIXTRACE_OF_(t, m)),                    \
	 POSIXTRACE_CODE_OF_(POSIXTRACE_OF_(t, m)) % 256, \
	 POSIXTRACE_CODE_OF_(POSIXTRACE_OF_(t, m)) / 256, \
	 POSIXTRACE_IS_ARRAY_(POSIXTRACE_OF_(t, m))},
#define POSIXTRACE_END_(t, m) char m[offsetof(t, m) + sizeof(POSIXTRACE_OF_(t, m))];
#define POSIXTRACE_SUM_(t, m) +sizeof(POSIXTRACE_OF_(t, m))
#define POSIXTRACE_COPY_(t, m) __builtin_memcpy(to_ + offsetof(t, m), &from_->m, sizeof(from_->m));

/* A kind, and the bytes of an element. */
#define POSIXTRACE_CODE_(kind, t) ((int)sizeof(t) + 256 * (int)POSIXTRACE_##kind)
/* An array becomes a pointer here. */
#define POSIXTRACE_CODE_OF_(x) \
	_Generic((x), _Bool: POSIXTRACE_CODE_(BOOL, _Bool), \
		 char: POSIXTRACE_CODE_(CHAR, char), \
		 signed char: POSIXTRACE_CODE_(SIGNED, signed char), \
		 unsigned char: POSIXTRACE_CODE_(UNSIGNED, unsigned char), \
		 short: POSIXTRACE_CODE_(SIGNED, short), \
		 unsigned short: POSIXTRACE_CODE_(UNSIGNED, unsigned short), \
		 int: POSIXTRACE_CODE_(SIGNED, int), \
		 unsigned int: POSIXTRACE_CODE_(UNSIGNED, unsigned int), \
		 long: POSIXTRACE_CODE_(SIGNED, long), \
		 unsigned long: POSIXTRACE_CODE_(UNSIGNED, unsigned long), \
		 long long: POSIXTRACE_CODE_(SIGNED, long long), \
		 unsigned long long: POSIXTRACE_CODE_(UNSIGNED, unsigned long long), \
		 float: POSIXTRACE_CODE_(FLOAT, float), \
		 double: POSIXTRACE_CODE_(FLOAT, double), \
		 _Bool *: POSIXTRACE_CODE_(BOOL, _Bool), \
		 char *: POSIXTRACE_CODE_(CHAR, char), \
		 signed char *: POSIXTRACE_CODE_(SIGNED, signed char), \
		 unsigned char *: POSIXTRACE_CODE_(UNSIGNED, unsigned char), \
		 short *: POSIXTRACE_CODE_(SIGNED, short), \
		 unsigned short *: POSIXTRACE_CODE_(UNSIGNED, unsigned short), \
		 int *: POSIXTRACE_CODE_(SIGNED, int), \
		 unsigned int *: POSIXTRACE_CODE_(UNSIGNED, unsigned int), \
		 long *: POSIXTRACE_CODE_(SIGNED, long), \
		 unsigned long *: POSIXTRACE_CODE_(UNSIGNED, unsigned long), \
		 long long *: POSIXTRACE_CODE_(SIGNED, long long), \
		 unsigned long long *: POSIXTRACE_CODE_(UNSIGNED, unsigned long long), \
		 float *: POSIXTRACE_CODE_(FLOAT, float), \
		 double *: POSIXTRACE_CODE_(FLOAT, double), \
		 void *: POSIXTRACE_CODE_(ADDRESS, void *), \
		 const void *: POSIXTRACE_CODE_(ADDRESS, void *), \
		 default: 0)
#define POSIXTRACE_IS_ARRAY_(x)                                                              \
	_Generic((x), _Bool : 0, char : 0, signed char : 0, unsigned char : 0, short : 0,    \
		 unsigned short : 0, int : 0, unsigned int : 0, long : 0, unsigned long : 0, \
		 long long : 0, unsigned long long : 0, float : 0, double : 0, void * : 0,   \
		 const void * : 0, default : 1)
#define POSIXTRACE_IS_NO_POINTER_(x)                                                             \
	_Generic(&(x), _Bool * * : 0, char ** : 0, signed char ** : 0, unsigned char ** : 0,     \
		 short ** : 0, unsigned short ** : 0, int ** : 0, unsigned int ** : 0,           \
		 long ** : 0, unsigned long ** : 0, long long ** : 0, unsigned long long ** : 0, \
		 float ** : 0, double ** : 0, default : 1)

#define POSIXTRACE_EACH_(do_, t, ...) \
	POSIXTRACE_JOIN_(POSIXTRACE_EACH_, POSIXTRACE_COUNT_(__VA_ARGS__))(do_, t, __VA_ARGS__)
#define POSIXTRACE_JOIN_(a, b) POSIXTRACE_JOINED_(a, b)
#define POSIXTRACE_JOINED_(a, b) a##b##_
#define POSIXTRACE_COUNT_(...)                                                                   \
	POSIXTRACE_COUNTED_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, \
			    18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define POSIXTRACE_COUNTED_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, \
			    _17, _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, _29, _30,  \
			    _31, _32, n, ...)                                                      \
	n
#define POSIXTRACE_EACH_1_(do_, t, m) do_(t, m)
#define POSIXTRACE_EACH_2_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_1_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_3_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_2_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_4_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_3_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_5_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_4_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_6_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_5_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_7_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_6_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_8_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_7_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_9_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_8_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_10_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_9_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_11_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_10_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_12_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_11_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_13_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_12_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_14_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_13_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_15_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_14_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_16_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_15_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_17_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_16_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_18_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_17_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_19_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_18_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_20_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_19_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_21_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_20_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_22_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_21_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_23_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_22_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_24_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_23_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_25_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_24_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_26_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_25_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_27_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_26_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_28_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_27_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_29_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_28_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_30_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_29_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_31_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_30_(do_, t, __VA_ARGS__)
#define POSIXTRACE_EACH_32_(do_, t, m, ...) do_(t, m) POSIXTRACE_EACH_31_(do_, t, __VA_ARGS__)
#elif __cplusplus >= 201103L /* Types of events have fields of the types of C++. */
#define POSIXTRACE_TYPE(type, ...)             \
	static_assert(!sizeof(#type),          \
		      "POSIXTRACE_TYPE(" #type \
		      ", ...) is for C; <posixtrace.hpp> has posixtrace::event for C++")
#define POSIXTRACE_EMIT(type, ...) static_cast<void>(0)
#define POSIXTRACE_EMIT_FROM(type, pointer) static_cast<void>(0)
#endif

/*
 * The following functions read logs (posix_trace_open) faster than posix_trace_getnext_event()
 * can: they look at less of the file, and hand out many events at a time.
 */

/* A span of time; both ends belong to it. */
struct posixtrace_span {
	struct timespec pt_first;
	struct timespec pt_last;
};

/*
 * Goes back to the first event of a log, as posix_trace_rewind() does, and says which events the
 * caller wants: those in one of `count` spans (0: of any time) and of one of these types (a null
 * pointer: of any type). Reading then skips the parts of the log that have none of them, without
 * looking at them. It may still report others, which stand near to those that are wanted: the
 * caller sorts them out. The selection holds until the next one, also across
 * posix_trace_rewind(). pt_skipped_events in posixtrace_counts says how many events were skipped.
 *
 * What is skipped is not checked: if it is damaged, nobody learns of it. If one of the types is
 * POSIX_TRACE_OVERFLOW or POSIX_TRACE_RESUME, which tell of damage, too, nothing is skipped because
 * of its type.
 *   EINVAL  not an open log; null pointer and count not 0; a tv_nsec that is none; not an
 *           initialised event set.
 *   ENOMEM  no memory; nothing was done.
 */
int posixtrace_select(trace_id_t, const struct posixtrace_span *, size_t count,
		      const trace_event_set_t *);

/*
 * Stores a time from which on a log has at least `count` events, and only about as many more as the
 * part of the log has in which the first of them stands: so a reader that wants the last events of
 * a log selects those from then on. It does not look at any event, only at what the log
 * says of its parts: a few of the events may not be reported, because of damage or because the
 * filter held their type. A reader that has found too few of them asks for more.
 *   EINVAL   not an open log; null pointer.
 *   ENODATA  the log does not have so many.
 */
int posixtrace_get_time_of_last(trace_id_t, unsigned long count, struct timespec *);

/*
 * Fills in an array of `count` elements as posixtrace_get_type_counts() does, with the events that
 * reading a whole log would report, without reading it: a log that was closed says it. pt_unread
 * is 0. Damage, if there is any, is not noticed.
 *   EINVAL   not an open log; null pointer and count not 0.
 *   ENODATA  the log does not say it, and has to be read: it was not closed, its log-full policy
 *            is POSIX_TRACE_LOOP, it was a pipe once, its keeper was replaced, it is damaged, it has
 *            events of types that were in the filter for a part of the time, or it has an event of
 *            type POSIX_TRACE_OVERFLOW.
 */
int posixtrace_get_log_totals(trace_id_t, struct posixtrace_type_count *, size_t count);

/*
 * Compares what a closed log says of its parts in several places, and stores how many parts say
 * different things. Such a log is damaged, even if all of its events can be read. It looks at all
 * parts, but not at events: who reads all events, without a selection, learns if these are damaged
 * (posixtrace_get_counts). The position stays. A log that says nothing twice, as
 * posixtrace_get_log_totals() has no answer for it, has 0.
 *   EINVAL  not an open log; null pointer.
 *   ENOMEM  no memory.
 */
int posixtrace_verify_log(trace_id_t, unsigned long *);

/*
 * Goes back to the first event of a log, and has the parts of the log, each of some 256 KiB at most,
 * read one behind the other in the order in which they were written, from the one with the number
 * `first` on (0: from the begin) to the one before `end` (ULONG_MAX: all). Within a part events are in the order of time; those of the next one may be earlier,
 * though most logs have none. So a log that is still written, and is opened again when it has grown,
 * begins with the same events in the same order, and others come behind them. This holds until the next
 * posixtrace_select() or call of this function, also across posix_trace_rewind().
 *   EINVAL  not an open log; a log that comes in parts (posixtrace_open_parts); the part was forgotten
 *           (posixtrace_refresh_log).
 *   ENOMEM  no memory; nothing was done.
 */
int posixtrace_select_parts(trace_id_t, unsigned long first, unsigned long end);

/* Where a log that is read in parts has been read to. */
struct posixtrace_place {
	/* The number of bytes of this structure that were filled in, at most the caller's size. */
	unsigned long pl_size;
	/* What all files of a log have in common, and no other log has; not 0. */
	unsigned long pl_log_id;
	/* The numbers of the first part that the log has, which is not 0 if files of a rotated log are
	 * gone, and of the part behind its last one. */
	unsigned long pl_first_part, pl_end_part;
	/* With posixtrace_select_parts(): whoever reads from the part with this number on gets so many
	 * events that have been read, and then those that have not. */
	unsigned long pl_part, pl_events;
};

/*
 * Fills in the first `size` bytes of a structure, where size is that of the structure. The last two
 * members are 0 if the log is not read in parts.
 *   EINVAL  not an open log; null pointer; size below that of the first member.
 */
int posixtrace_get_place(trace_id_t, struct posixtrace_place *, size_t size);

/*
 * Looks at what a log that is still written has got since it was opened, or since the last call. What it
 * costs depends on that, and on what stands behind the begin of part `first`, but not on how long the log
 * is. The parts before number `first` are forgotten: afterwards the log is as if it had been opened just now
 * and began with that part, but for the counts of all that it has. A selection is over. Pointers that
 * posixtrace_get_log_process() and the like have stored are no longer valid. No other thread may use the log
 * meanwhile.
 *   EINVAL  not an open log; a log that comes in parts (posixtrace_open_parts).
 *   ESTALE  the log can only be closed, and opened anew, which tells what has come of it: it was closed by
 *           its writer, cut off, written anew or damaged, or is of a kind that has to be opened anew each
 *           time: rotated (posixtrace_attr_setlogrotation), or one that overwrites its oldest events.
 *   ENOMEM  no memory; the log can only be closed.
 */
int posixtrace_refresh_log(trace_id_t, unsigned long first);

/* An event, and all of its data, which is not aligned in any way. pt_data is never null. */
struct posixtrace_event {
	struct posix_trace_event_info pt_info;
	const void *pt_data;
	size_t pt_size;
};

/* Some events of a log, in the order of posix_trace_getnext_event(). The members do not change. */
struct posixtrace_block {
	const struct posixtrace_event *pt_events;
	size_t pt_count;
};

/*
 * Reads the next events of a log, at least one, and stores a block of them; a null pointer at the
 * end of the log. The position moves behind them, also for posix_trace_getnext_event(). A block
 * ends with an event of type POSIX_TRACE_OVERFLOW, if there is one: posixtrace_get_counts() then
 * tells if damage is the cause of that.
 *
 * Any number of blocks may exist at a time. Several threads may read the events of one. The caller
 * frees each with posixtrace_free_block(), in any thread, also after posix_trace_close().
 *   EINVAL  not an open log; null pointer.
 *   ENOMEM  no memory; the position has not moved.
 */
int posixtrace_getnext_block(trace_id_t, struct posixtrace_block **);

/* A null pointer is allowed. */
void posixtrace_free_block(struct posixtrace_block *);

/*
 * Opens a log that comes in parts, as a program receives it from a pipe or a socket, and stores an
 * identifier, which posix_trace_close() closes. Of the log, the first bytes are given: 1760 at least.
 * The functions that read logs report what has come; where it ends for now they say that there is no
 * event. Packets of events are read in the order in which they come.
 *
 * posix_trace_rewind() and posixtrace_select() refuse such a log with EINVAL, as the parts are not kept.
 * Its status and its counts are those that it told last; as long as it has told none, the status is that
 * of a log without an end. One thread at a time uses it. What is not right ends the reading: the
 * functions that read events then return EPROTO, too.
 *   EINVAL  null pointer; the bytes are not the first of a log, or too few; the log is of a kind that no
 *           pipe gets.
 *   EPROTO  what follows upon these is no log.
 *   ENOMEM  no memory.
 */
int posixtrace_open_parts(const void *bytes, size_t size, trace_id_t *);

/*
 * Adds the bytes that come next, however many, and stores whether the log is complete now (if the
 * pointer is not null): then nothing may follow. Pointers that the functions which tell whose a log is
 * have given are not valid any more; blocks are. Memory is taken for what has come and was not read.
 *   EINVAL  no log that comes in parts; null pointer for the bytes.
 *   EPROTO  this is no part of the log, or an earlier call has failed.
 *   ENOMEM  no memory.
 */
int posixtrace_add_part(trace_id_t, const void *bytes, size_t size, int *is_complete);

/*
 * A log that a program writes itself, of events that it has read elsewhere: a part of a log, several
 * logs in one, or what a stream holds. One thread at a time may use it. posix_trace_open() reads it
 * like any other log, when it is closed or before.
 */
struct posixtrace_log;

/*
 * Begins a log with these attributes (a null pointer: the default ones) in a file descriptor as for
 * posix_trace_create_withlog(), which stays the caller's. The creation time is what the
 * third argument says (a null pointer: now), and the log-full policy is POSIX_TRACE_APPEND.
 *   EBADF   not open for writing.
 *   EINVAL  not an initialised attributes object; null pointer; no time; a descriptor that cannot be
 *           a log.
 *   ENOMEM  no memory.
 *   EOVERFLOW  a null pointer for the time, and the clock shows none from 1970 to 2261.
 *   others  of writing the first bytes.
 */
int posixtrace_log_create(int fd, const trace_attr_t *, const struct timespec *,
			  struct posixtrace_log **);

/*
 * Stores the event type of this name, which is new if the log has no such type. A name of a system
 * event type stands for that. When the log has as many types as there can be, other names become
 * POSIX_TRACE_UNNAMED_USEREVENT.
 *   EINVAL        null pointer.
 *   ENAMETOOLONG  the name has more than TRACE_EVENT_NAME_MAX bytes.
 */
int posixtrace_log_type(struct posixtrace_log *, const char *, trace_event_id_t *);

/*
 * Gives a type of the log a layout, as posixtrace_eventid_open_layout() does.
 *   EINVAL        null pointer; not a type of this log that has a name of its own; no layout.
 *   EEXIST        the type has another layout.
 *   ENAMETOOLONG  the layout has more than POSIXTRACE_LAYOUT_MAX bytes.
 *   ENOSPC        the layouts of the log have 1 MiB.
 *   ENOMEM        no memory.
 */
int posixtrace_log_set_layout(struct posixtrace_log *, trace_event_id_t, const char *layout);

/*
 * Adds an event, as posixtrace_getnext_block() hands it out, but with a type of this log. It is not
 * earlier than the one before. The reader of the log gives out the events in the order in which they
 * were added. What is added between a POSIX_TRACE_OVERFLOW and a POSIX_TRACE_RESUME is left out, as in
 * every log; nothing is left out because of a filter that a POSIX_TRACE_START or POSIX_TRACE_FILTER
 * tells. The event sets in the data of these two have types of this log. Memory and writes take about
 * 256 KiB at a time; events of one time are written together.
 *   EINVAL  null pointer; not a type of this log; no time, or earlier than the event before; too
 *           much data.
 *   ENOMEM  no memory: the event is not in the log.
 *   others  of a write: the log takes nothing any more, and each later call says so again.
 */
int posixtrace_log_add(struct posixtrace_log *, const struct posixtrace_event *);

/*
 * Adds what a log that is open tells of its machine, its clocks and of those processes that have events
 * in the new log so far: it is called behind the last event, once for each log that events are from.
 * That takes no more room than in any log, 128 KiB and a sixteenth of the events'; what is beyond is
 * left out.
 *   EINVAL  null pointer; not a log.
 *   EXDEV   the log has a machine already, and it is another one, or was booted anew: nothing is added,
 *           as process numbers mean others there.
 *   ENOMEM  no memory.
 *   others  of a write: the log takes nothing any more.
 */
int posixtrace_log_add_whose(struct posixtrace_log *, trace_id_t);

/*
 * Writes what waits, closes the log, waits until it is on its disk, and frees it, whatever it
 * returns. The status of the log says what it lacks: pt_lost_events, pt_log_lost_events, pt_untraced_processes
 * with pt_untraced_error, and pt_refused_names of *counts, what was cut: pt_data_needed, and the members of that
 * whose names begin with pt_source (a null pointer: nothing).
 *   EINVAL  null pointer for the log.
 *   ENOMEM  no memory.
 *   others  of a write: the log has no end.
 */
int posixtrace_log_close(struct posixtrace_log *, const struct posixtrace_counts *);

/*
 * Does what posix_trace_shutdown() does, and fills in the final counts as posixtrace_get_counts()
 * does: pt_log_events then says how many events the log has got, even if it is a pipe.
 *   EINVAL  not an active stream; null pointer; size below that of the first member: nothing was
 *           done.
 *   ECHILD  the keeper of the log has died, and so has each that was started in its place: the stream is gone
 *           for the caller, but not its events. The next posix_trace_create_withlog() of the user, or
 *           posixtrace_salvage_orphan(), finishes the log.
 *   others  as posix_trace_shutdown(): the stream is gone and *counts is filled in.
 */
int posixtrace_shutdown(trace_id_t, struct posixtrace_counts *, size_t);

/*
 * Gives the log of an active stream up if it stalls: a FIFO, socket or device that takes nothing
 * for a second. A flush or shutdown that waits for it in another thread, and each later one, then
 * ends with ECANCELED; what was not written is not in the log. Returns at once. Output that goes
 * on is not given up. Safe in every thread, also while the stream is shut down.
 *   EINVAL  not an active stream with a log.
 */
int posixtrace_give_up_log(trace_id_t);

/*
 * is_synced 0: when the stream is shut down, or when its controller has died, its log is closed
 * without waiting for the disk, and nobody learns of a write-back that fails later. Otherwise, as
 * without this call, the shutdown takes as long as the disk needs, and returns the error (EIO,
 * ENOSPC, EDQUOT and others) if the log did not come to it; the status in the log then has the
 * error, too, as far as the log can still be read. A flush never waits for the disk, except for the
 * flushes that finish an orphan (see below). The last call counts.
 *   EINVAL  not an active stream with a log.
 */
int posixtrace_set_log_sync(trace_id_t, int is_synced);

/*
 * Patterns say by name which event types a stream records. They hold from the first event of a
 * name, whoever opens it and whenever, also in processes that the trace has not reached yet.
 */
#define POSIXTRACE_ONLY 1    /* record only names that match a pattern of this kind */
#define POSIXTRACE_EXCLUDE 2 /* do not record names that match */
/* The most patterns that a stream can have. */
#define POSIXTRACE_PATTERNS_MAX 256

struct posixtrace_pattern {
	/* POSIXTRACE_ONLY or POSIXTRACE_EXCLUDE. */
	int pt_how;
	/* Set by posixtrace_get_patterns(), and not looked at by posixtrace_set_patterns(): the
	 * pattern matches a name that exists. */
	int pt_has_matched;
	/* The pattern, with a null byte at its end: as in a shell, * stands for any bytes, ? for
	 * any one byte, [a-z], [!a-z] and [[:digit:]] for one of a set, and \\ takes the meaning
	 * from the byte behind it. A pattern without these stands for one name. Bytes count, in
	 * every locale; a bracket that does not end stands for itself. */
	char pt_glob[TRACE_EVENT_NAME_MAX + 1];
};

/*
 * Gives an active stream `count` patterns in place of those that it had; 0 takes them away. The
 * caller keeps the array. A user event type is recorded if its name matches a pattern of the kind
 * ONLY, or there is none of this kind, and if it matches none of the kind EXCLUDE. System event
 * types are recorded unless they match one of the kind EXCLUDE.
 *
 * Patterns and filter (posix_trace_set_filter) stand beside each other: an event is recorded if
 * neither keeps it out, and posix_trace_get_filter() tells of both, as far as names exist. With
 * posix_trace_set_filter() a program may decide otherwise than the patterns of types that exist:
 * types that it takes out of the filter (POSIX_TRACE_SUB_EVENTSET), or leaves out of the filter
 * that it sets (POSIX_TRACE_SET_EVENTSET), are recorded, until patterns are set that say another
 * thing of their names than those before, or the stream is cleared. posix_trace_clear() keeps the
 * patterns. If the stream is running, and patterns change what is recorded of types that exist,
 * a POSIX_TRACE_FILTER event tells of it, as for posix_trace_set_filter(). No other call records
 * one because of patterns: there is no event of a name before it is compared with them.
 *   EINVAL  not an active stream; null pointer and count not 0; an unknown pt_how; a pattern that
 *           is empty or has no null byte.
 *   E2BIG   more than POSIXTRACE_PATTERNS_MAX patterns.
 *   ENOMEM  no memory, or none in /dev/shm. The patterns are those from before.
 */
int posixtrace_set_patterns(trace_id_t, const struct posixtrace_pattern *, size_t count);

/*
 * Stores in *count how many patterns an active stream has, and copies the first `size` of them at
 * most. posixtrace_set_patterns() with what this gives changes nothing. Takes time in proportion
 * to the number of patterns times that of names.
 *   EINVAL  not an active stream; a null pointer (the array may be one if size is 0).
 *   ENOMEM  no memory.
 */
int posixtrace_get_patterns(trace_id_t, struct posixtrace_pattern *, size_t size, size_t *count);

/*
 * Stores the process that writes the log of an active stream, its keeper. If that was killed,
 * another one is started first: until then nothing is flushed, and the stream may fill up and lose
 * events. The library notices it in any call with the stream; a program that makes no calls for
 * long while others record can watch the process by pidfd_open(2), and call this when it has
 * ended. It is no child of the caller.
 *   EAGAIN  the process has ended, and another thread is about to start the next, or a limit on
 *           processes allows none.
 *   EINVAL  not an active stream with a log; null pointer.
 *   ENOMEM  no other process can be started.
 */
int posixtrace_get_keeper(trace_id_t, pid_t *);

/*
 * A cursor is a place in an active stream of this process, from which events are read without being
 * taken out: other cursors, posix_trace_getnext_event() and the log get the same events. A stream
 * may have any number of cursors. One thread at a time may use a cursor. Cursors are not valid in a
 * forked child.
 */
struct posixtrace_cursor;

/* The cursor ends with what had been recorded when it was opened, and tells by OVERFLOW and RESUME
 * what the stream had lost before. */
#define POSIXTRACE_CURSOR_SNAPSHOT 1

/*
 * Opens a cursor before the oldest event that the stream holds. The flags are 0 or
 * POSIXTRACE_CURSOR_SNAPSHOT. The caller closes the cursor, before or after the stream is shut
 * down.
 *   EINVAL  not an active stream; a null pointer; unknown flags.
 *   ENOMEM  no memory.
 */
int posixtrace_cursor_open(trace_id_t, int flags, struct posixtrace_cursor **);

/*
 * Has the cursor report only events of these types from now on, besides OVERFLOW and RESUME. User events
 * of other types cost it a few nanoseconds each. The last call counts. For an event type that is not
 * known yet, the set says whether the type is wanted when it comes: see posix_trace_eventset_fill().
 *   EINVAL  a null pointer; not an initialised event set; the stream was shut down.
 */
int posixtrace_cursor_select(struct posixtrace_cursor *, const trace_event_set_t *);

/*
 * Reports the next event as posix_trace_trygetnext_event() does. It may wait up to 100 ms for event
 * calls under way. Where events were overwritten before the cursor came to them, OVERFLOW and RESUME
 * stand in their place. Events that were flushed to the log before are left out. A stream that is
 * full and stopped does not go on because a cursor has read it.
 *   EINVAL  a null pointer; the stream was shut down.
 *   ENOMEM  no memory.
 */
int posixtrace_cursor_trygetnext_event(struct posixtrace_cursor *, struct posix_trace_event_info *,
				       void *data, size_t num_bytes, size_t *data_len,
				       int *unavailable);

/*
 * Counts the events that the cursor cannot report any more since it was opened or the stream was
 * cleared: events lost in the stream, and user events that were flushed before the cursor came to
 * them. Counting takes time in proportion to the events in the stream. While others record and
 * flush, the number may be wrong by some events; once the stream has stopped it is exact.
 *   EINVAL  a null pointer; the stream was shut down.
 */
int posixtrace_cursor_get_missed(struct posixtrace_cursor *, unsigned long *);

/*
 * Events as a log has them, for a program that is to receive them over a pipe or a socket: all parts of a
 * cursor, put together, are a log without a file, which posixtrace_open_parts() reads, and so does
 * posix_trace_open() when they stand in a file.
 */
struct posixtrace_part {
	/* The number of bytes of this structure that were filled in, at most the caller's size. */
	unsigned long pt_size;
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
 * there is no event; others are empty then. Names of event types, and what /proc tells of processes, come
 * before the events. They have their types in the stream. Looking at a process takes a moment.
 *   EINVAL  null pointer, or size below that of the first member; the stream was shut down.
 *   ENOMEM  no memory: events may be missing, and each later call says so again.
 */
int posixtrace_cursor_get_part(struct posixtrace_cursor *, struct posixtrace_part *, size_t);

/*
 * Makes a part without events that tells status and counts, as those of a log: of the counts, what was
 * lost in the stream and in the log, what could not be traced or got no name, and how events waited;
 * is_end: and that the log is complete, so that this is the last part. The stream may have been shut
 * down.
 *   EINVAL  a null pointer, or size below that of the first member; no part was read before.
 *   ENOMEM  as above.
 */
int posixtrace_cursor_end_part(struct posixtrace_cursor *, const struct posix_trace_status_info *,
			       const struct posixtrace_counts *, int is_end,
			       struct posixtrace_part *, size_t);

/* Frees the cursor. A null pointer is allowed. */
void posixtrace_cursor_close(struct posixtrace_cursor *);

/*
 * Whose a log is. The keeper writes into a log on which machine it is written, and what /proc tells of
 * each process of which the log has events. Logs of releases that did not do so tell nothing: ENODATA.
 *
 * Texts of a log may have any bytes, and an adversary may have written them.
 */
struct posixtrace_log_host {
	/* The number of bytes of this structure that were filled in, at most the caller's size. */
	unsigned long ph_size;
	/* Of uname(): nodename, sysname, release, version, machine. */
	char ph_name[256], ph_system[128], ph_release[128], ph_version[256], ph_machine[128];
	/* What /etc/machine-id and /proc/sys/kernel/random/boot_id say. */
	char ph_machine_id[128], ph_boot_id[128];
	/* The time zone of the process that created the stream: its variable TZ, or the name in
	 * /etc/localtime. */
	char ph_time_zone[64];
	/* Seconds east of UTC at the creation of the stream, if that is known. */
	int ph_has_utc_offset;
	int ph_utc_offset;
};

/*
 * A process, as it was when the keeper looked at it: when it began to record into the stream, and
 * later when it had changed: executed another program, mapped more code, got another name, or was
 * another process with the same number. Pointers are valid until the log is closed; texts have no
 * null byte at the end.
 */
struct posixtrace_log_process {
	unsigned long pp_size;
	pid_t pp_pid;
	/* It had ended before the keeper could look at it, so only few of the members are known. */
	int pp_has_ended;
	/* The next four are known. */
	int pp_is_known;
	pid_t pp_parent_pid;
	/* When it started, exact to 10 ms: by the clock of the events. */
	struct timespec pp_start;
	/* Its name as ps(1) shows it, of at most 15 bytes. */
	const char *pp_name;
	size_t pp_name_size;
	/* Its effective user. */
	int pp_has_user;
	uid_t pp_user;
	/* The path of its program as /proc/PID/exe says it, and the build id that the linker put into
	 * that file. Size 0: not known, or none. */
	const char *pp_executable;
	size_t pp_executable_size;
	const unsigned char *pp_build_id;
	size_t pp_build_id_size;
	/* Its arguments, each ending with a null byte; the first 4096 bytes. */
	int pp_has_command_line, pp_is_command_line_cut;
	const char *pp_command_line;
	size_t pp_command_line_size;
	/* Its executable mappings; cut: it has more. */
	int pp_has_mappings, pp_are_mappings_cut;
	unsigned long pp_mapping_count;
	/* It was found so at this time. */
	struct timespec pp_from;
};

/* A part of a file that is mapped as code: the address A is at A - pm_start + pm_offset in it. */
struct posixtrace_log_mapping {
	unsigned long pm_size;
	unsigned long pm_start, pm_end, pm_offset;
	/* As /proc/PID/maps shows it; "[vdso]" and the like are no files. */
	const char *pm_path;
	size_t pm_path_size;
	const unsigned char *pm_build_id;
	size_t pm_build_id_size;
};

/*
 * A name of a thread, as /proc shows it, from a time on: a thread may be given others later. The first thread
 * of a process, whose pt_tid would be pt_pid, has the name of the process and is not among these. A thread
 * that ended before the keeper had looked at it has no name, and is not among them either, unless its
 * number was that of another one before: then the name is empty.
 */
struct posixtrace_log_thread {
	unsigned long pt_size;
	pid_t pt_pid, pt_tid;
	struct timespec pt_from;
	const char *pt_name; /* of at most 16 bytes */
	size_t pt_name_size;
};

/*
 * Clocks of the machine, read one directly after the other: at the begin and the end of a log, and at
 * times in between. What differs from reading to reading tells how the clock of the events, which
 * follows CLOCK_MONOTONIC, and CLOCK_REALTIME went apart.
 */
struct posixtrace_log_clock {
	unsigned long pk_size;
	struct timespec pk_time; /* what an event would have got */
	struct timespec pk_realtime, pk_monotonic, pk_boottime;
	long pk_window_ns;	  /* the time that reading them took */
	unsigned long pk_counter; /* the processor's: TSC, or cntvct_el0 */
	/* What adjtimex() said of CLOCK_REALTIME: status bits, and errors in nanoseconds. */
	int pk_has_status, pk_status, pk_is_synchronized;
	long pk_max_error_ns, pk_estimated_error_ns;
};

/*
 * These fill in the first `size` bytes of a structure, where size is that of the structure.
 * Processes are in the order of their pids, and those of one pid in that of time, as are clocks; an
 * index counts from 0. posixtrace_find_log_process() stores the index of the process that an event of this
 * time and pid belongs to, and posixtrace_find_log_thread() that of the name which the thread of
 * an event had. Threads are in the order of pids and tids, and the names of one in that of time.
 *   EINVAL   not an open log; null pointer; size below that of the first member.
 *   ENODATA  the log does not tell this, or not of so many.
 */
int posixtrace_get_log_host(trace_id_t, struct posixtrace_log_host *, size_t size);
int posixtrace_get_log_process(trace_id_t, unsigned long index, struct posixtrace_log_process *,
			       size_t size);
int posixtrace_get_log_clock(trace_id_t, unsigned long index, struct posixtrace_log_clock *,
			     size_t size);
int posixtrace_find_log_process(trace_id_t, pid_t, const struct timespec *, unsigned long *index);
int posixtrace_get_log_thread(trace_id_t, unsigned long index, struct posixtrace_log_thread *,
			      size_t size);
int posixtrace_find_log_thread(trace_id_t, pid_t, pid_t tid, const struct timespec *,
			       unsigned long *index);
int posixtrace_get_log_mapping(trace_id_t, unsigned long process, unsigned long index,
			       struct posixtrace_log_mapping *, size_t size);

/*
 * Says whether the log of a stream, and the parts of its cursors, get the command lines of processes,
 * which may hold secrets. To be called before the stream is started: what was seen by then stays. The
 * default is yes.
 *   EINVAL  not an active stream.
 */
int posixtrace_set_command_line(trace_id_t, int is_wanted);

/* The generation version in the attributes of this library's streams, such as "posixtrace
 * 0.2.0-dev". A static string. */
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
 * Returns non-zero if somebody traces this process, and 0 if an event would go nowhere: a program
 * whose events take work to prepare looks here first. It is async-signal-safe, and costs what an event
 * costs that nobody traces. Streams that do not want the event, or are suspended, count too.
 */
int posixtrace_is_traced(void);

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
 * The same, and gives the event type a layout as posixtrace_eventid_open_layout() does.
 *   EINVAL        also if it is no layout, or the name is that of a predefined type.
 *   EEXIST        the type has another layout: the event is not recorded.
 *   ENAMETOOLONG  also if the layout has more than POSIXTRACE_LAYOUT_MAX bytes.
 *   ENOSPC        as there: the event is not recorded.
 */
int posixtrace_event_for_layout(pid_t, const char *event_name, const char *layout, const void *data,
				size_t, unsigned int *streams);

/*
 * An observer records events that the controller of a stream has learned of a moment later than they
 * were, of whatever threads: what the operating system tells of processes, for example. They stand in
 * the log by the time at which they were. A live reader and a cursor report them when they were added,
 * behind later ones.
 *
 * One thread opens an observer and closes it, and lives as long as that; if others use it meanwhile,
 * they take turns. A forked child has none. Memory of a stream that nobody ends is not lost: an
 * observer that is not closed ends with its thread.
 */
struct posixtrace_observer;

struct posixtrace_observed {
	/* Of CLOCK_MONOTONIC. Time goes on from event to event: one that is earlier than the event
	 * before gets the time of that. */
	struct timespec po_time;
	/* Whose event it is: posix_pid and posix_tid. */
	pid_t po_pid, po_tid;
	/* Of posixtrace_observer_type(). */
	trace_event_id_t po_event;
	const void *po_data;
	size_t po_size;
};

/*
 * posixtrace_observer_open() opens one for an active stream, which need not run.
 *   EINVAL  not an active stream; null pointer.
 *   ENOMEM  no memory.
 */
int posixtrace_observer_open(trace_id_t, struct posixtrace_observer **);

/*
 * Stores the event type of this name, with this layout (a null pointer: without one), as
 * posix_trace_trid_eventid_open() does.
 *   EINVAL  the stream was shut down; null pointer; the name of a predefined type; no layout.
 *   EEXIST, ENAMETOOLONG, ENOSPC, ENOMEM  as posixtrace_eventid_open_layout().
 */
int posixtrace_observer_type(struct posixtrace_observer *, const char *name, const char *layout,
			     trace_event_id_t *);

/*
 * Adds `count` events. Each is recorded if the stream runs now and filter and patterns accept its
 * type; data beyond max-data-size is cut; if the stream is full the event is lost, or waits, as one
 * that is recorded now. `lost` is the number of events that the caller knows to be lost before it
 * could learn of them: they count as events that the stream has lost.
 *   EINVAL  the stream was shut down; null pointer and count not 0, or null data and size not 0;
 *           no event type that can be recorded.
 */
int posixtrace_observer_add(struct posixtrace_observer *, const struct posixtrace_observed *,
			    size_t count, unsigned long lost);

/*
 * Tells a log what was observed of a process, in the form in which posixtrace_get_log_process() and
 * posixtrace_get_log_mapping() tell it, but with times of CLOCK_MONOTONIC. pp_size, pp_has_ended and
 * pm_size are not looked at. The log keeps it unless its keeper has found the same process by itself.
 * Does nothing for a stream without a log.
 *   EINVAL  the stream was shut down; null pointer; no pid.
 */
int posixtrace_observer_add_process(struct posixtrace_observer *,
				    const struct posixtrace_log_process *,
				    const struct posixtrace_log_mapping *);

/* Closes it; a null pointer is allowed. The stream may have been shut down. */
void posixtrace_observer_close(struct posixtrace_observer *);

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
	/* The process has a page, which it or a process that traces it has made. A program that nobody
	 * traces, and that has opened no event name, needs none. */
	int pt_has_page;
	/* The library has started in the program that the process runs now. */
	int pt_has_library;
	/* The streams that trace the process, and the event names that it, or the processes
	 * that share names with it by fork, have opened. */
	unsigned int pt_streams;
	unsigned int pt_events;
	/* How many names at least found no room beside those, as in struct posixtrace_counts, and
	 * the first one of them. */
	unsigned long pt_refused_names;
	char pt_refused_name[TRACE_EVENT_NAME_MAX + 1];
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
	/* Orphans (see below) that were dropped because there were too many of them, since
	 * posixtrace_discard_orphan(0) was last called. */
	unsigned int pt_dropped_orphans;
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
 * TRACE_EVENT_NAME_MAX + 1 bytes; the name is empty if a process was stopped or killed while it
 * opened it. pt_streams may still count a stream that has just ended, for
 * which the result is ENOENT.
 *   ENOENT  no such number.
 *   others  as posixtrace_get_process().
 */
int posixtrace_get_process_stream(pid_t, unsigned int number, struct posixtrace_process_stream *,
				  size_t);
int posixtrace_get_process_event(pid_t, unsigned int number, trace_event_id_t *, char *event_name);

/*
 * Stores the path of this user's directory of shared objects, which is in /dev/shm; is_create:
 * makes it if it is not there. The library and all commands use this one. If another user has
 * taken the name posixtrace-<user>, it has another one that begins so.
 *   EINVAL  null pointer, or size below 64.
 *   ENOENT  it has not been made yet; the path is the one that it would have.
 *   EPERM   it is not safe to use: no directory, or open to others. The path is stored.
 *   ENOMEM  no memory or no descriptor.
 */
int posixtrace_get_directory(int is_create, char *path, size_t size);

/*
 * Fills in what is known of this user's shared objects and of the machine.
 *   EINVAL  as posixtrace_get_process().
 */
int posixtrace_get_system(struct posixtrace_system *, size_t);

/*
 * Orphans: streams whose controller was killed and which still hold events: plain streams with
 * events that nobody has read, and streams with a log whose keeper was killed, too, so that the
 * log is not finished. Any create finishes such logs; if it cannot, or if the stream is plain, the
 * stream stays in /dev/shm, where it takes memory, until it is salvaged or discarded. At most 64
 * orphans with a log and 8 plain ones stay; the plain ones take no more than half of /dev/shm, and
 * give way to a stream for which no memory is left. The oldest goes first, and is counted as
 * dropped. A stream that a living process controls is never an orphan.
 */
struct posixtrace_orphan {
	unsigned long pt_size;
	/* Identifies the stream. */
	uint64_t pt_id;
	/* 0, or why it cannot be salvaged as it is. ENOTSUP: it is of another version of the
	 * library, and nothing else is known of it. EINVAL: its memory is damaged. ECHILD: the
	 * processes that were to write its log have died, which its memory may be the cause of;
	 * creates do not try again. ENOMEM. */
	int pt_error;
	int pt_has_log;
	/* The processes that controlled it and that it was created for. Other processes may have
	 * these numbers now. */
	pid_t pt_controller;
	pid_t pt_target;
	/* Events that nobody has read (plain) or that are in no log, system events included; the
	 * bytes of memory that the stream takes; when it was created. */
	unsigned long pt_events;
	unsigned long pt_memory;
	struct timespec pt_created;
	char pt_name[TRACE_NAME_MAX];
	/* The path that the log had when it was begun; empty if there was none. */
	char pt_log[4096];
};

/*
 * Tells of one of the orphans of the caller's effective user, which are numbered from 0 on. The
 * numbers change when an orphan comes or goes. The size is passed as for posixtrace_get_counts().
 *   EINVAL  null pointer, or size below that of the first member.
 *   ENOENT  no such number.
 *   EPERM   the user's directory of shared objects is not safe to use.
 *   ENOMEM  no memory or no descriptor.
 */
int posixtrace_get_orphan(unsigned int number, struct posixtrace_orphan *, size_t);

/*
 * posixtrace_salvage_orphan(id, path, written) writes what the orphan holds into a log, finishes
 * that, and removes the stream. The log is the orphan's own, if it is still at its path, under
 * another name in the same directory, or open in a process that the caller may look at. Otherwise,
 * or if nothing can be written to it, a new log gets the events that the own one does not have: at
 * `path`, or if that is null, at the old path with ".salvaged" behind it. A file of that name is
 * never replaced: ".2", ".3" and so on are added. If `written` is not null it gets the path of the
 * log, in 4096 bytes. The call takes as long as writing the log does. Several processes may try
 * at the same time, and be killed while they do: no event gets lost.
 *   ESRCH         no such orphan.
 *   EBUSY         its controller lives, or another process is salvaging it.
 *   ENOTSUP, EINVAL, ECHILD  see pt_error.
 *   EDESTADDRREQ  the stream is plain, and `path` is null.
 *   ENOENT        the directory of the new log does not exist.
 *   EPERM         the user's directory of shared objects is not safe to use; or the caller is in
 *                 a namespace where no process for the work can be made.
 *   EAGAIN        a limit on processes allows none that writes the log.
 *   ENOMEM        no memory, no descriptor.
 *   ENOSPC, EACCES, EROFS, EIO and others  no log can be written, or brought to its disk, for this
 *                 reason.
 * After an error the stream still holds every event that is in no log.
 */
int posixtrace_salvage_orphan(uint64_t id, const char *path, char *written);

/*
 * Removes an orphan with its events; 0 forgets how many were dropped.
 *   ESRCH, EBUSY, EPERM, ENOMEM  as posixtrace_salvage_orphan().
 */
int posixtrace_discard_orphan(uint64_t id);

#ifdef __cplusplus
}
#endif

#endif
