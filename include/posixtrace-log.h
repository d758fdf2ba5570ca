/* SPDX-License-Identifier: MIT */
/*
 * <posixtrace-log.h>: additions to the standard for programs that read or write logs. They read
 * events in blocks, and the data of an event field by field. The rules at the start of
 * <posixtrace.h> hold here, too. Each function has a page in section 3 of the manual, which lists
 * its errors.
 *
 * An open log is identified by a trace_id_t, from posixtrace_log_open() or posix_trace_open(). In
 * both cases the functions of <trace.h> for logs can be used: posix_trace_eventid_get_name(),
 * posix_trace_get_attr(), posix_trace_get_status(), posix_trace_getnext_event(),
 * posix_trace_rewind(), posix_trace_close().
 *
 * If the first member of a structure is its size, the caller passes the size of the structure to
 * the functions that fill it in, because a later version may add members at the end.
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
 * A figure about a stream or a log, for example the number of lost events (posix_trace_get_status()
 * only reports whether events were lost). posixtrace_get_counts(3) lists the names of the figures;
 * a later version of the library may have more figures. pt_name is a static string.
 */
struct posixtrace_count {
	const char *pt_name;
	unsigned long pt_value;
};

/*
 * Stores the number of figures in *count, and at most the first `size` figures, always in the
 * same order. A figure counts what has happened since the stream was created or last cleared;
 * reading it does not reset it. Figures that have no meaning for this stream or log are 0. The
 * figures are read one after the other while events are recorded, so they may differ from each
 * other by some events.
 */
int posixtrace_get_counts(trace_id_t, struct posixtrace_count *, size_t size, size_t *count);

struct posixtrace_type_count {
	unsigned long pt_events;
	/* bytes of the events' data, as recorded */
	unsigned long pt_bytes;
	/* events whose data was truncated to max-data-size */
	unsigned long pt_truncated;
	/* events that were not read yet and can still be read */
	unsigned long pt_unread;
};

/*
 * Fills in an array of counts; the last argument is the number of its elements. Element i is for
 * the event type with identifier i. No type has identifier 0: element 0 counts the events of all
 * types for whose counts there was no memory in /dev/shm. The call takes time in proportion to the
 * number of events in the stream, and resets no counts.
 *
 * For an active stream, the counts cover the events that were recorded since it was created or last
 * cleared, and that were read or flushed or are in the stream now. Lost events are not counted.
 * While events are flushed, the numbers may be wrong by some events.
 *
 * For a log that was closed, the counts cover the events that a reader of the whole log would get.
 * ENODATA: the log has not stored these counts; only reading all events would give them.
 */
int posixtrace_get_type_counts(trace_id_t, struct posixtrace_type_count *, size_t);

/*
 * Opens a log by its path, as posix_trace_open() does by a descriptor. If a rotated log is given
 * by the path of its first file, all its files are opened as one log, even if the first file has
 * been deleted; each file takes a descriptor. If it is given by the path of a later file, only
 * that file is opened. Files that are missing between others are reported by an OVERFLOW and a
 * RESUME.
 */
int posixtrace_log_open(const char *, trace_id_t *);

/* A span of time, including both ends. */
struct posixtrace_span {
	struct timespec pt_first;
	struct timespec pt_last;
};

/*
 * Returns to the first event of a log, as posix_trace_rewind() does, and selects events by time
 * and type: the time is in one of `count` spans (0: any time), and the type is in the set (a null
 * pointer: any type). Reading then skips the parts of the log that contain no selected event,
 * without checking these parts for damage. It may still report events that are not selected, if
 * they are near selected events; the caller must skip these. The selection holds until the next
 * call of this function, even after posix_trace_rewind().
 */
int posixtrace_log_select(trace_id_t, const struct posixtrace_span *, size_t count,
			  const trace_event_set_t *);

/*
 * Finds the last `count` events of a log, and stores the start time of the part of the log that
 * contains the first of these events. So the log has at least `count` events from this time on; if
 * it has more, the others are earlier events of that part. A reader that selects the events from
 * this time on may get a few fewer, because events are damaged or excluded by the filter. ENODATA:
 * the log has fewer than `count` events.
 */
int posixtrace_log_get_time_of_last(trace_id_t, unsigned long count, struct timespec *);

/* An event and all its data. The data is not aligned. pt_data is never null. */
struct posixtrace_event {
	struct posix_trace_event_info pt_info;
	const void *pt_data;
	size_t pt_size;
};

/* Consecutive events of a log, in the order in which posix_trace_getnext_event() would report
 * them. The library does not change a block. */
struct posixtrace_block {
	const struct posixtrace_event *pt_events;
	size_t pt_count;
};

/*
 * Reads the next events of a log, at least one event, and stores a pointer to a block of them; at
 * the end of the log it stores a null pointer. The position in the log, which
 * posix_trace_getnext_event() uses too, moves past these events. A block ends after an event of
 * type POSIX_TRACE_OVERFLOW, so that posixtrace_get_counts() then shows whether damage is the
 * cause of this event.
 *
 * Any number of blocks may exist at a time. Several threads may read the events of the same
 * block. The caller frees each block with posixtrace_log_free_block(), in any thread, even after
 * posix_trace_close().
 */
int posixtrace_log_next_block(trace_id_t, struct posixtrace_block **);

/* Frees a block. The pointer may be null. */
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
	/* Which field the next call of posixtrace_log_next_field() stores. The caller sets these
	 * three members to 0 before the first call, and each call sets them for the next one. */
	unsigned long pt_next_field, pt_next_index;
	uint64_t pt_next_bit;
	/* The name of the field; empty if all data of the event is one text of JSON. Valid until
	 * the log is closed. */
	const char *pt_name;
	int pt_kind; /* enum posixtrace_field_kind */
	/* For an array: the number of its elements, and the index of this element. Both are 0 if
	 * the field is no array. */
	unsigned long pt_count, pt_index;
	/* The value, if the field is a number. pt_kind says which of the three members holds it:
	 * pt_signed, pt_float or, for the kinds marked as unsigned above, pt_unsigned. The other
	 * two are 0. */
	uint64_t pt_unsigned;
	int64_t pt_signed;
	double pt_float;
	/* The name of the value of an enum; a null pointer if the value has no name, or the field
	 * is no enum. */
	const char *pt_member;
	/* The unit of a number, such as "ns" or "KiB"; empty if it has no unit. */
	const char *pt_unit;
	/* The bytes of the field in the data of the event. A text ends before its first null byte.
	 * For a bit field, pt_length is 0. */
	const void *pt_data;
	size_t pt_length;
};

/*
 * Stores the next field of an event of the log, with its name and type from the layout of the event
 * type. To get the first field, the caller sets the three pt_next_ members to 0. Padding is
 * skipped. ENODATA: there are no more fields, or the event type has no layout. EBADMSG: from this
 * field on, the data does not fit the layout.
 */
int posixtrace_log_next_field(trace_id_t, const struct posixtrace_event *,
			      struct posixtrace_field *, size_t size);

/*
 * The machine and the processes of a log. The keeper writes into the log on which machine it
 * runs, and what /proc shows about each process that has events in the log. Texts from a log may
 * contain any bytes, and an adversary may have written them.
 *
 * This structure describes the machine. A text is empty if it is unknown.
 */
struct posixtrace_log_host {
	/* The number of bytes of this structure that were filled in, at most the caller's size. */
	unsigned long ph_size;
	/* From uname(2): nodename, sysname, release, version and machine. */
	char ph_name[256], ph_system[128], ph_release[128], ph_version[256], ph_machine[128];
	/* The contents of /etc/machine-id and /proc/sys/kernel/random/boot_id. */
	char ph_machine_id[128], ph_boot_id[128];
	/* The time zone of the process that created the stream: its environment variable TZ, or
	 * the name in /etc/localtime. */
	char ph_time_zone[64];
	/* The time zone's offset at the creation of the stream, in seconds east of UTC. Valid if
	 * ph_has_utc_offset is not 0. */
	int ph_has_utc_offset;
	int ph_utc_offset;
};

/*
 * A process as the keeper (the process that writes the log) found it in /proc. The keeper looks at
 * a process that starts to record into the stream, and adds another description if the process
 * has changed later: if it has executed another program, mapped more code or got another name, or
 * if it is another process with the same pid. Pointers are valid until the log is closed. Texts
 * have no null byte at the end.
 */
struct posixtrace_log_process {
	unsigned long pp_size; /* bytes of this structure that were filled in */
	pid_t pp_pid;
	/* Not 0: the process had ended before the keeper could look at it, so only few members
	 * are known. */
	int pp_has_ended;
	/* Not 0: pp_parent_pid, pp_start, pp_name and pp_name_size are known. */
	int pp_is_known;
	pid_t pp_parent_pid;
	/* The start time of the process by the clock of the events, exact to 10 ms. */
	struct timespec pp_start;
	/* The name of the process as ps(1) shows it, at most 15 bytes. */
	const char *pp_name;
	size_t pp_name_size;
	/* The effective user of the process. Valid if pp_has_user is not 0. */
	int pp_has_user;
	uid_t pp_user;
	/* The path of the program from /proc/PID/exe, and the build ID that the linker has put
	 * into that file. Size 0: the path or the build ID is unknown or does not exist. */
	const char *pp_executable;
	size_t pp_executable_size;
	const unsigned char *pp_build_id;
	size_t pp_build_id_size;
	/* The arguments of the program, each null-terminated, if pp_has_command_line is not 0. At
	 * most their first 4096 bytes: if pp_is_command_line_cut is not 0, there are more. */
	int pp_has_command_line, pp_is_command_line_cut;
	const char *pp_command_line;
	size_t pp_command_line_size;
	/* The number of executable mappings (posixtrace_log_get_mapping), valid if pp_has_mappings
	 * is not 0. If pp_are_mappings_cut is not 0, the process has more mappings than the log
	 * contains. */
	int pp_has_mappings, pp_are_mappings_cut;
	unsigned long pp_mapping_count;
	/* The time from which this describes the process: that of the event that made the keeper
	 * look at it, which the keeper did later. */
	struct timespec pp_from;
};

/* A part of a file that is mapped as code: the byte at address A of the process is at offset A -
 * pm_start + pm_offset of the file. If pm_is_function is not 0, there is no file: the mapping is a
 * function whose code the program made at run time. */
struct posixtrace_log_mapping {
	unsigned long pm_size; /* bytes of this structure that were filled in */
	unsigned long pm_start, pm_end, pm_offset;
	/* The path as in /proc/PID/maps, or the name of the function. Paths such as "[vdso]" are
	 * no files. pm_build_id_size is 0 if no build ID is known. */
	const char *pm_path;
	size_t pm_path_size;
	const unsigned char *pm_build_id;
	size_t pm_build_id_size;
	int pm_is_function;
};

/*
 * A name of a thread, from /proc, and the time from which on the thread had this name: a thread may
 * be renamed. The first thread of a process, whose pt_tid is equal to pt_pid, has the name of the
 * process and is not listed here. A thread that ended before the keeper could look at it is not
 * listed, because its name is unknown. But if another thread had the same ID before, the later
 * thread is listed with an empty name, so that its events do not get the name of the earlier one.
 */
struct posixtrace_log_thread {
	unsigned long pt_size; /* bytes of this structure that were filled in */
	pid_t pt_pid, pt_tid;
	struct timespec pt_from;
	const char *pt_name; /* at most 16 bytes */
	size_t pt_name_size;
};

/*
 * One reading of several clocks of the machine, one directly after the other. A log has readings
 * from its start, its end, and times in between. The changes from reading to reading show how
 * CLOCK_REALTIME and the clock of the events, which follows CLOCK_MONOTONIC, diverged.
 */
struct posixtrace_log_clock {
	unsigned long pk_size;	 /* bytes of this structure that were filled in */
	struct timespec pk_time; /* the time that an event of this moment has */
	/* pk_boottime, unlike pk_monotonic, is without the offset of a time namespace. */
	struct timespec pk_realtime, pk_monotonic, pk_boottime;
	long pk_window_ns;	  /* duration of the reading */
	unsigned long pk_counter; /* the processor's counter: TSC or cntvct_el0 */
	/* From adjtimex(), about CLOCK_REALTIME: status bits, and errors in nanoseconds. Valid if
	 * pk_has_status is not 0. */
	int pk_has_status, pk_status, pk_is_synchronized;
	long pk_max_error_ns, pk_estimated_error_ns;
};

/*
 * The _get_ functions fill in the first `size` bytes of a structure. Indices count from 0; the
 * argument `process` is the index of a process. Processes are sorted by pid, then by time. Names
 * of threads are sorted by pid, tid and time; a thread has an entry for each name that it has had.
 * Clock readings are sorted by time. posixtrace_log_find_process() stores the index of the process
 * to which an event with this time and pid belongs. posixtrace_log_find_thread() stores the index
 * of the name that the thread had at this time. ENODATA: the log has no such information, or the
 * index is too large.
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
 * A handle for a log that a program writes itself, with events that it has read elsewhere: for
 * example a part of another log, several logs merged into one, or the contents of a stream. One
 * thread at a time may use the handle. posix_trace_open() can open a log that was written in this
 * way, even before it is closed.
 */
struct posixtrace_log_writer;

/*
 * Starts a log with these attributes (a null pointer: the defaults). The log is written to the file
 * descriptor, which must meet the conditions of posix_trace_create_withlog(); the caller closes the
 * descriptor after the log was closed. The third argument is the creation time (a null pointer:
 * now), which must not be before 1970. The log-full policy is POSIX_TRACE_APPEND.
 */
int posixtrace_log_writer_open(int fd, const trace_attr_t *, const struct timespec *,
			       struct posixtrace_log_writer **);

/*
 * Stores the identifier of the event type with this name, and gives the type the layout (a null
 * pointer: no layout), as posixtrace_eventid_open_layout() does. If the log has no such type, the
 * type is added. The name of a predefined event type gives that type. When the log has
 * TRACE_USER_EVENT_MAX types, further names give POSIX_TRACE_UNNAMED_USEREVENT. Predefined types,
 * and so POSIX_TRACE_UNNAMED_USEREVENT, get no layout.
 */
int posixtrace_log_writer_type(struct posixtrace_log_writer *, const char *name, const char *layout,
			       trace_event_id_t *);

/*
 * Adds an event, for example from posixtrace_log_next_block(). Its type must be an event type of
 * this log, and it must not be earlier than the event added before. EINVAL: it is earlier, its time
 * is more than 2^63 nanoseconds from 1970, or its truncation status is not one of <trace.h>.
 * Readers of the log report the events in the order in which they were added. As in every log,
 * readers leave out events between a POSIX_TRACE_OVERFLOW and a POSIX_TRACE_RESUME. But readers of
 * this log do not apply the filters that its POSIX_TRACE_START and POSIX_TRACE_FILTER events
 * contain; the types in these filters must be types of this log. After a write error no more events
 * can be added.
 */
int posixtrace_log_writer_add(struct posixtrace_log_writer *, const struct posixtrace_event *);

/*
 * Adds what another, open log contains about its machine, its clocks and its processes; only
 * processes that have events in the new log are added. So call this after the last event was
 * added, once for each log from which events were added. EXDEV: the new log already has the
 * description of another machine.
 */
int posixtrace_log_writer_add_origin(struct posixtrace_log_writer *, trace_id_t);

/*
 * Writes the remaining events, closes the log, waits until it is on its disk, and frees the
 * handle, even if it returns an error. The caller passes `count` figures about losses, for
 * example those that posixtrace_get_counts() has stored for the source of the events. They are
 * written into the status of the log, so that readers know what is missing.
 */
int posixtrace_log_writer_close(struct posixtrace_log_writer *, const struct posixtrace_count *,
				size_t count);

#ifdef __cplusplus
}
#endif

#endif
