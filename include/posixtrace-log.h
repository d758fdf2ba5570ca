/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace-log.h>: additions to the standard for programs that read logs, by blocks of events
 * and by the fields of their data, or write them. The rules of <posixtrace.h> hold here, too. Each
 * function has a page in section 3 of the manual, which lists its errors.
 *
 * An open log is a trace_id_t, from posixtrace_log_open() or posix_trace_open(). The functions of
 * <trace.h> for logs hold for both: posix_trace_eventid_get_name(), posix_trace_get_attr(),
 * posix_trace_get_status(), posix_trace_getnext_event(), posix_trace_rewind(), posix_trace_close().
 *
 * The caller passes the size of each structure whose first member is a size, because a later
 * version may add members at the end.
 */
#ifndef POSIXTRACE_LOG_H
#define POSIXTRACE_LOG_H 1

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A figure about a stream or a log: for example the number of lost events, where
 * posix_trace_get_status() only reports whether there are any. posixtrace_get_counts(3) lists the
 * names; a later version may have more. The name is a static string.
 */
struct posixtrace_count {
	const char *pt_name;
	unsigned long pt_value;
};

/*
 * Stores in *count the number of figures, and at most the first `size` of them, always in the same
 * order. They count since the stream was created or last cleared, and reading them resets nothing.
 * Those without meaning are 0. They are read one after the other during recording, so they may
 * differ by some events.
 */
int posixtrace_get_counts(trace_id_t, struct posixtrace_count *, size_t size, size_t *count);

struct posixtrace_type_count {
	unsigned long pt_events;
	/* bytes of their data, as recorded */
	unsigned long pt_bytes;
	/* events whose data was cut to max-data-size */
	unsigned long pt_truncated;
	/* events that no reader has got yet, but one can still get */
	unsigned long pt_unread;
};

/*
 * Fills in an array of `count` elements; element i is for the event type with identifier i. Element
 * 0 counts events of types for whose counts /dev/shm had no memory. Counting takes time in
 * proportion to the events in the stream, and resets nothing.
 *
 * For an active stream, these are the events since it was created or last cleared that were read,
 * flushed, or are in the stream now. Lost events do not count. While events are flushed, the
 * numbers may be wrong by some events.
 *
 * For a closed log, these are the events that reading all of it would report. ENODATA: the log must
 * be read to know.
 */
int posixtrace_get_type_counts(trace_id_t, struct posixtrace_type_count *, size_t);

/*
 * Opens a log by its path, as posix_trace_open() does by a descriptor. If the log is rotated and
 * the path is that of its first file, even of one that has been deleted, all of its files are
 * opened as one log; each takes a descriptor. The path of another of its files opens that file
 * alone. Files that are missing between others are reported by an OVERFLOW and a RESUME.
 */
int posixtrace_log_open(const char *, trace_id_t *);

/* A span of time, including both ends. */
struct posixtrace_span {
	struct timespec pt_first;
	struct timespec pt_last;
};

/*
 * Returns to the first event of a log, as posix_trace_rewind() does, and selects events: those in
 * one of `count` spans (0: of any time) and of one of these types (a null pointer: of any type).
 * Reading then skips the parts of the log that have none of them, without checking these parts for
 * damage. It may still report other events near the selected ones, which the caller must skip. The
 * selection holds until the next one, even after posix_trace_rewind().
 */
int posixtrace_log_select(trace_id_t, const struct posixtrace_span *, size_t count,
			  const trace_event_set_t *);

/*
 * Stores a time from which on a log has at least `count` events, and not many more: those in the
 * same part of the log as the first of them. A few of the events may not be reported, because of
 * damage or of the filter at their time. ENODATA: the log has fewer.
 */
int posixtrace_log_get_time_of_last(trace_id_t, unsigned long count, struct timespec *);

/* An event and all of its data, which is not aligned. pt_data is never null. */
struct posixtrace_event {
	struct posix_trace_event_info pt_info;
	const void *pt_data;
	size_t pt_size;
};

/* Consecutive events of a log, in the order of posix_trace_getnext_event(). The members do not
 * change. */
struct posixtrace_block {
	const struct posixtrace_event *pt_events;
	size_t pt_count;
};

/*
 * Reads the next events of a log, at least one, and stores a block of them; a null pointer at the
 * end of the log. The position moves past them, also for posix_trace_getnext_event(). A block ends
 * after an event of type POSIX_TRACE_OVERFLOW: posixtrace_get_counts() then reports whether damage
 * has caused it.
 *
 * Any number of blocks may exist at a time. Several threads may read the events of one. The caller
 * frees each with posixtrace_log_free_block(), in any thread, even after posix_trace_close().
 */
int posixtrace_log_next_block(trace_id_t, struct posixtrace_block **);

/* A null pointer is allowed. */
void posixtrace_log_free_block(struct posixtrace_block *);

/* The kinds of fields (see posixtrace-layout(5)). */
enum posixtrace_field_kind {
	POSIXTRACE_FIELD_UNSIGNED = 1,
	POSIXTRACE_FIELD_SIGNED,
	POSIXTRACE_FIELD_HEX, /* unsigned, to be shown in hexadecimal */
	POSIXTRACE_FIELD_FLOAT,
	POSIXTRACE_FIELD_BOOL, /* unsigned: 0 or 1 */
	POSIXTRACE_FIELD_TEXT,
	POSIXTRACE_FIELD_BYTES,
	POSIXTRACE_FIELD_JSON,
	POSIXTRACE_FIELD_CODE,	/* unsigned: the address of an instruction */
	POSIXTRACE_FIELD_CALLER /* unsigned: the address to which a call returns */
};

/* A field of an event's data, or one element of an array. */
struct posixtrace_field {
	/* Bytes of this structure that were filled in, at most the caller's size. */
	unsigned long pt_size;
	/* The position of the next field; 0 at first. */
	unsigned long pt_next_field, pt_next_index;
	uint64_t pt_next_bit;
	/* The name; empty if the data is one text of JSON. Valid until the log is closed. */
	const char *pt_name;
	int pt_kind; /* enum posixtrace_field_kind */
	/* Number of elements of the array, and index of this one; 0 and 0 if it is no array. */
	unsigned long pt_count, pt_index;
	/* The value of a number, in the member that pt_kind selects. The others are 0. */
	uint64_t pt_unsigned;
	int64_t pt_signed;
	double pt_float;
	/* The name of an enum's value; a null pointer if it has none, or is no enum. */
	const char *pt_member;
	/* The unit of a number, such as "ns" or "KiB"; empty: none. */
	const char *pt_unit;
	/* Its bytes in the data of the event; for text, those before the first null byte; for a
	 * bit field, none. */
	const void *pt_data;
	size_t pt_length;
};

/*
 * Stores the next field of an event of the log, with name and type from the layout of the event's
 * type; the first one if the structure is all zero. Padding is skipped. ENODATA: there are no more
 * fields, or no layout. EBADMSG: the rest of the data does not fit the layout.
 */
int posixtrace_log_next_field(trace_id_t, const struct posixtrace_event *,
			      struct posixtrace_field *, size_t size);

/*
 * The machine and the processes of a log. The keeper writes into the log on which machine it runs,
 * and what /proc shows of each process that has events in it. ENODATA: the log does not have this.
 *
 * Texts of a log may have any bytes, and an adversary may have written them.
 */
struct posixtrace_log_host {
	/* The number of bytes of this structure that were filled in, at most the caller's size. */
	unsigned long ph_size;
	/* From uname(): nodename, sysname, release, version, machine. */
	char ph_name[256], ph_system[128], ph_release[128], ph_version[256], ph_machine[128];
	/* The contents of /etc/machine-id and /proc/sys/kernel/random/boot_id. */
	char ph_machine_id[128], ph_boot_id[128];
	/* The time zone of the process that created the stream: its variable TZ, or the name in
	 * /etc/localtime. */
	char ph_time_zone[64];
	/* Seconds east of UTC at the creation of the stream, if known. */
	int ph_has_utc_offset;
	int ph_utc_offset;
};

/*
 * A process as the keeper found it: when it started to record into the stream, and later when it
 * had changed: had executed another program, mapped more code, got another name, or was another
 * process with the same pid. Pointers are valid until the log is closed; texts have no null byte at
 * the end.
 */
struct posixtrace_log_process {
	unsigned long pp_size;
	pid_t pp_pid;
	/* It had ended before the keeper could look at it, so only few of the members are known. */
	int pp_has_ended;
	/* The next four members are known. */
	int pp_is_known;
	pid_t pp_parent_pid;
	/* Its start, exact to 10 ms, by the clock of the events. */
	struct timespec pp_start;
	/* Its name as ps(1) shows it, at most 15 bytes. */
	const char *pp_name;
	size_t pp_name_size;
	/* Its effective user. */
	int pp_has_user;
	uid_t pp_user;
	/* The path of its program from /proc/PID/exe, and the build ID that the linker put into
	 * that file. Size 0: unknown, or none. */
	const char *pp_executable;
	size_t pp_executable_size;
	const unsigned char *pp_build_id;
	size_t pp_build_id_size;
	/* Its arguments, each null-terminated; the first 4096 bytes. */
	int pp_has_command_line, pp_is_command_line_cut;
	const char *pp_command_line;
	size_t pp_command_line_size;
	/* Its executable mappings; cut: it has more. */
	int pp_has_mappings, pp_are_mappings_cut;
	unsigned long pp_mapping_count;
	/* The time at which it was found so. */
	struct timespec pp_from;
};

/* A part of a file that is mapped as code: address A is at offset A - pm_start + pm_offset of
 * the file. */
struct posixtrace_log_mapping {
	unsigned long pm_size;
	unsigned long pm_start, pm_end, pm_offset;
	/* As in /proc/PID/maps; "[vdso]" and the like are no files. */
	const char *pm_path;
	size_t pm_path_size;
	const unsigned char *pm_build_id;
	size_t pm_build_id_size;
};

/*
 * A name of a thread, from /proc, since a time: a thread may be renamed later. The first thread of
 * a process, whose pt_tid equals pt_pid, has the name of the process and is not listed here. A
 * thread that ended before the keeper had looked at it has no name and is not listed, unless its ID
 * was that of another thread before: then the name is empty.
 */
struct posixtrace_log_thread {
	unsigned long pt_size;
	pid_t pt_pid, pt_tid;
	struct timespec pt_from;
	const char *pt_name; /* at most 16 bytes */
	size_t pt_name_size;
};

/*
 * Clocks of the machine, read one directly after the other: at the start and the end of a log, and
 * at times in between. The changes from reading to reading show how the clock of the events, which
 * follows CLOCK_MONOTONIC, and CLOCK_REALTIME diverged.
 */
struct posixtrace_log_clock {
	unsigned long pk_size;
	struct timespec pk_time; /* the time of an event at this moment */
	struct timespec pk_realtime, pk_monotonic, pk_boottime;
	long pk_window_ns;	  /* duration of the reading */
	unsigned long pk_counter; /* the processor's counter: TSC or cntvct_el0 */
	/* From adjtimex(), about CLOCK_REALTIME: status bits, and errors in nanoseconds. */
	int pk_has_status, pk_status, pk_is_synchronized;
	long pk_max_error_ns, pk_estimated_error_ns;
};

/*
 * These fill in the first `size` bytes of a structure. Indices count from 0. Processes are in the
 * order of their pids, and those with the same pid in the order of time; threads in the order of
 * pids and tids, and the names of one in the order of time; clocks in the order of time.
 * posixtrace_log_find_process() stores the index of the process to which an event of this time and
 * pid belongs, and posixtrace_log_find_thread() that of the name which the thread had then.
 * ENODATA: the log does not have this, or has fewer.
 */
int posixtrace_log_get_host(trace_id_t, struct posixtrace_log_host *, size_t size);
int posixtrace_log_get_process(trace_id_t, unsigned long index, struct posixtrace_log_process *,
			       size_t size);
int posixtrace_log_get_clock(trace_id_t, unsigned long index, struct posixtrace_log_clock *,
			     size_t size);
int posixtrace_log_find_process(trace_id_t, pid_t, const struct timespec *, unsigned long *index);
int posixtrace_log_get_thread(trace_id_t, unsigned long index, struct posixtrace_log_thread *,
			      size_t size);
int posixtrace_log_find_thread(trace_id_t, pid_t, pid_t tid, const struct timespec *,
			       unsigned long *index);
int posixtrace_log_get_mapping(trace_id_t, unsigned long process, unsigned long index,
			       struct posixtrace_log_mapping *, size_t size);

/*
 * A log that a program writes, of events that it has read elsewhere: a part of a log, several logs
 * in one, or the contents of a stream. One thread at a time may use it. posix_trace_open() reads it
 * like any other log, even before it is closed.
 */
struct posixtrace_log_writer;

/*
 * Starts a log with these attributes (a null pointer: the defaults) in a file descriptor as for
 * posix_trace_create_withlog(), which stays the caller's. The third argument is the creation time
 * (a null pointer: now). The log-full policy is POSIX_TRACE_APPEND.
 */
int posixtrace_log_writer_open(int fd, const trace_attr_t *, const struct timespec *,
			       struct posixtrace_log_writer **);

/*
 * Stores the event type of this name, which is new if the log has no such type, and gives it the
 * layout (a null pointer: none), as posixtrace_eventid_open_layout() does. The name of a predefined
 * event type gives that type. When the log has TRACE_USER_EVENT_MAX types, other names give
 * POSIX_TRACE_UNNAMED_USEREVENT. Neither of these gets a layout.
 */
int posixtrace_log_writer_type(struct posixtrace_log_writer *, const char *name, const char *layout,
			       trace_event_id_t *);

/*
 * Adds an event, as from posixtrace_log_next_block() but with a type of this log, and not earlier
 * than the previous one. Readers of the log report the events in the order of their addition.
 * Events between a POSIX_TRACE_OVERFLOW and a POSIX_TRACE_RESUME are left out, as in every log; no
 * event is left out because of the filter in a POSIX_TRACE_START or POSIX_TRACE_FILTER, whose event
 * sets have types of this log. After a write error the log takes no more events.
 */
int posixtrace_log_writer_add(struct posixtrace_log_writer *, const struct posixtrace_event *);

/*
 * Adds what an open log contains about its machine, its clocks and those processes that have events
 * in the new log so far: call it after the last event, once for each log from which there are
 * events. EXDEV: the log has another machine already.
 */
int posixtrace_log_writer_add_origin(struct posixtrace_log_writer *, trace_id_t);

/*
 * Writes the remaining events, closes the log, waits until it is on its disk, and frees it,
 * whatever it returns. The status of the log reports what it lacks, from `count` figures of the
 * caller, such as those of the source from posixtrace_get_counts().
 */
int posixtrace_log_writer_close(struct posixtrace_log_writer *, const struct posixtrace_count *,
				size_t count);

#ifdef __cplusplus
}
#endif

#endif
