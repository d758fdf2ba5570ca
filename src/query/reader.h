/* SPDX-License-Identifier: MIT */
/* Reads events from a log, or from a session that is followed. The reader keeps its latest event, so that the
 * events of several logs can be merged, and looks up each event type once. */
#ifndef PTRC_SRC_QUERY_READER_H
#define PTRC_SRC_QUERY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace.h>

#include "include/posixtrace-private.h"
#include "src/base/message.h"
#include "src/fields/when.h"
#include "src/query/attributes.h"
#include "src/query/correction.h"
#include "src/query/losses.h"
#include "src/query/thread_gap.h"
#include "src/query/type.h"

/* The greatest identifier of an event type, plus 1. */
#define PTRC_READER_IDS (POSIX_TRACE_UNNAMED_USEREVENT + TRACE_USER_EVENT_MAX)

/* Stores the next event type of a trace, after posix_trace_eventtypelist_rewind(). Returns false if there are no more. */
static inline bool ptrc_next_type(trace_id_t trace, trace_event_id_t *id)
{
	int unavailable = 0;

	return !posix_trace_eventtypelist_getnext_id(trace, id, &unavailable) && !unavailable;
}

static inline bool ptrc_is_in_set(const trace_event_set_t *set, trace_event_id_t id)
{
	int is_member = 0;

	return !posix_trace_eventset_ismember(id, set, &is_member) && is_member;
}

static inline bool ptrc_is_system_type(trace_event_id_t id)
{
	return id && id < POSIX_TRACE_UNNAMED_USEREVENT;
}

struct ptrc_reader;
/* The state of following a session. It is defined in src/session/reader_follow.c. */
struct ptrc_reader_input;

/* How a reader gets the log of a session, which comes in parts, as the session writes it.
 * src/session/reader_follow.c has the functions. */
struct ptrc_reader_source {
	/* Waits for the next part of the log. Returns false at the end of the log, or with .error set (see
	 * ptrc_reader_next()). */
	bool (*receive)(struct ptrc_reader *);
	/* Whether .receive would have to wait now. */
	bool (*is_waiting)(const struct ptrc_reader *);
	/* Goes back to the first event. Called only after the end of the session. */
	int (*rewind)(struct ptrc_reader *);
	/* Frees .input. */
	void (*close)(struct ptrc_reader *);
};

/* The loss that an OVERFLOW event reports: events are missing after it. */
struct ptrc_reader_gap {
	/* The loss is a damaged place of the log. */
	bool is_damage;
	/* The number of unreadable events is unknown. */
	bool is_uncounted;
	/* The number of unreadable events. */
	uint64_t events;
};

/* A block of events, which ptrc_reader_block_free() frees. */
struct ptrc_reader_block {
	struct posixtrace_block *events;
	/* The number of events of the block that were taken so far. */
	size_t at;
	/* The loss that the last event of the block starts, if that event is an OVERFLOW. */
	struct ptrc_reader_gap gap;
	/* For each event, the nanoseconds since the preceding event of the same thread. NULL
	 * without ptrc_reader_watch_threads(). The next block reuses the memory. */
	int64_t *since_before;
};

/* Where a session may have more events than its reader has got: it has flushed them to its log too soon. */
enum ptrc_reader_lack {
	PTRC_LACK_NONE,
	/* Before the next event. */
	PTRC_LACK_BEFORE,
	/* Before each event until ptrc_reader_set_lacking() is called again, and then before the next one. */
	PTRC_LACK_AMONG,
};

struct ptrc_reader {
	/* The path of the log, or the name of the session. */
	const char *path;
	int fd;
	trace_id_t trace;
	/* Set if the path leads to the log of a session that still runs, so that the missing end of the log is no
	 * loss. own_path then has the path, and is freed with the reader. */
	bool is_growing;
	char *own_path;
	/* For a session: the functions and the state by which its log is received. Both are NULL if
	 * the log is a file. */
	const struct ptrc_reader_source *source;
	struct ptrc_reader_input *input;
	/* The number of events of a session that were lost on the way to this reader; and whether an unknown
	 * number of events at the end of the session was lost, too. */
	uint64_t unshown_count;
	bool is_rest_unshown;
	enum ptrc_reader_lack lack;
	/* Such events may be missing directly before the latest event. */
	bool is_after_lack;
	/* The earlier events of the session were in a log that is no longer at its path, so they are missing. */
	bool is_log_gone;
	struct ptrc_attributes attributes;
	struct posix_trace_status_info status;
	struct ptrc_counts counts;
	/* The log has an end, and counts no loss when it is opened. */
	bool is_complete;

	/* The latest event. Its data stays valid until the next event is read. */
	struct posix_trace_event_info event;
	const unsigned char *data;
	size_t size;
	/* The block that the latest event is from. */
	struct ptrc_reader_block block;
	/* Nanoseconds from the preceding event of the same thread to the latest event, or PTRC_THREAD_GAP_NONE. */
	int64_t since_before;
	/* The last event of each thread. NULL without ptrc_reader_watch_threads(). */
	struct ptrc_thread_gap *before;
	/* The label that the user gave the host of the log, owned; or NULL if the host has the name that the log
	 * gives. */
	char *label;
	/* Makes times comparable with those of other logs; NULL: times are unchanged. If the correction changes
	 * times, log_time is the uncorrected time of the latest event. */
	const struct ptrc_correction *correction;
	struct timespec log_time;
	/* The uncorrected time of the last event of the block. */
	struct timespec block_end;
	/* The number of events read so far. */
	uint64_t read_count;
	/* If the block ends with an OVERFLOW: the loss that this OVERFLOW starts. gap_counts: the counts of the log
	 * when the latest such OVERFLOW was read. */
	struct ptrc_reader_gap gap;
	struct ptrc_counts gap_counts;
	/* The error number that ended the reading, or 0. */
	int error;

	/* PTRC_READER_IDS event types, by identifier: NULL for a type that was not looked up yet. Copies of the
	 * reader share them. */
	struct ptrc_type **types;
	/* The name of the source in the form in which src/text shows it: one allocation, freed with
	 * the types; NULL until it is needed. */
	void *label_in_lines;
};

/* Opens a log, or "-" for standard input, and reads its attributes, status and counts. A pipe, which cannot seek, is
 * copied to a temporary file first. On failure prints the reason, returns false and leaves nothing open. */
bool ptrc_reader_open(struct ptrc_reader *, const char *path);

/* Opens a log as ptrc_reader_open() does, but without a message, and sets .fd to -1. Returns an
 * error of posixtrace_log_open(), or 0. */
int ptrc_reader_open_log(struct ptrc_reader *, const char *path);

/* Returns the number that all files of a log have in common, and that no other log has; 0 if no log is at the path. The
 * first file of a rotated log may be missing. */
uint64_t ptrc_reader_log_id(const char *path);

/* Whether the name is that of the second or a later file of a rotated log whose first file has the name `first`: this
 * name, a point and digits. */
bool ptrc_reader_is_later_name(const char *name, const char *first);

/* Returns the path of the log to which the file belongs. For a later file of a rotated log, that is the path
 * of the first file. The caller frees the path. */
char *ptrc_reader_first_path(const char *path) __attribute__((returns_nonnull));

/* Whether a file exists at the path, or the first file of a rotated log existed there and is now missing. */
bool ptrc_reader_is_there(const char *path);

/* Whether the file starts like a log, of whatever version and machine. */
bool ptrc_reader_is_log(int fd);

/* Stores the reason why posix_trace_open() refused the file with EINVAL. */
void ptrc_reader_why_no_log(int fd, struct ptrc_cli_reason *);
/* Stores the reason why posixtrace_log_open() refused a log with EPROTO: which of its files has a
 * version that this command does not know, that version, and the version that it knows. */
void ptrc_reader_why_no_version(const char *path, struct ptrc_cli_reason *);

void ptrc_reader_close(struct ptrc_reader *);

/*
 * Reads the next event. If a session has none yet, waits for it. Returns false at the end, or with .error set if
 * the rest cannot be read: ECONNRESET if the session's controller was killed; EINTR if a signal handler ran or no
 * event came for a while, after which the caller may call again.
 */
bool ptrc_reader_next(struct ptrc_reader *);

/* Called by a source before it adds events: sets whether events of the session may be missing among them. */
void ptrc_reader_set_lacking(struct ptrc_reader *, bool is_lacking);

/* Reads the next block of events into a structure that starts zeroed. The caller frees the block. Returns false at the
 * end, or with .error set. A caller uses this or ptrc_reader_next(), not both. */
bool ptrc_reader_next_block(struct ptrc_reader *, struct ptrc_reader_block *);

void ptrc_reader_block_free(struct ptrc_reader_block *);

/* Lets the reader fill in .since_before. It then reads all events, selected or not. Called before the first
 * event. */
void ptrc_reader_watch_threads(struct ptrc_reader *);

/* Replaces the time of the latest event by its corrected time, see posixtrace-clocks(7). */
void ptrc_reader_correct(struct ptrc_reader *);

static inline const char *ptrc_reader_shown_name(const struct ptrc_reader *r)
{
	return r->label ? r->label : r->path;
}

/* Whether the correction changes times. */
static inline bool ptrc_reader_is_moving(const struct ptrc_reader *r)
{
	return r->correction && r->correction->is_moving;
}

/* The uncorrected time of the latest event. Other parts of the log, such as names of threads, are looked up by
 * uncorrected times. */
static inline const struct timespec *ptrc_reader_log_time(const struct ptrc_reader *r)
{
	return ptrc_reader_is_moving(r) ? &r->log_time : &r->event.posix_timestamp;
}

/* Converts the corrected time of an event back into its uncorrected time. */
struct timespec ptrc_reader_log_time_of(const struct ptrc_reader *, const struct timespec *);

/* Makes the next event of the block the latest event. Returns false at the end of the block. */
static inline bool ptrc_reader_take(struct ptrc_reader *r, struct ptrc_reader_block *b)
{
	const struct posixtrace_event *e = &b->events->pt_events[b->at];

	if (b->at == b->events->pt_count)
		return false;
	r->since_before = b->since_before ? b->since_before[b->at] : PTRC_THREAD_GAP_NONE;
	b->at++;
	r->event = e->pt_info;
	if (__builtin_expect(r->correction != NULL, 0))
		ptrc_reader_correct(r);
	r->data = e->pt_data;
	r->size = e->pt_size;
	r->gap = b->gap;
	r->read_count++;
	return true;
}

/* Whether the latest event is an OVERFLOW that stands for a damaged place of the log. */
static inline bool ptrc_reader_is_at_damage(const struct ptrc_reader *r)
{
	return r->event.posix_event_id == POSIX_TRACE_OVERFLOW && r->gap.is_damage;
}

/* Whether ptrc_reader_next() would have to wait now. May free the data of the latest event. */
bool ptrc_reader_is_waiting(struct ptrc_reader *);

/* Called after all events were read: sets the time of the latest event to that of the last event in the log,
 * selected or not. The other members of the latest event are not valid then. */
void ptrc_reader_go_to_end(struct ptrc_reader *);

/* The functions from here to ptrc_reader_refresh() return an error number, or 0. */

/* Goes back to the first event of a log. */
int ptrc_reader_rewind(struct ptrc_reader *);

/* Goes back to the first event of a log, and selects events as ptrc_log_select() does. For a session,
 * selects nothing: all events are read. */
int ptrc_reader_select_always(struct ptrc_reader *, const struct posixtrace_span *, size_t count,
			      const trace_event_set_t *types, const trace_event_set_t *always);

static inline int ptrc_reader_select(struct ptrc_reader *r, const struct posixtrace_span *spans,
				     size_t count, const trace_event_set_t *types)
{
	return ptrc_reader_select_always(r, spans, count, types, NULL);
}

/* Goes back to the start of a log, and reads only its parts from number `first` to before number `end`, in the order in
 * which they were written, as ptrc_log_select_parts() does. */
int ptrc_reader_select_parts(struct ptrc_reader *, unsigned long first, unsigned long end);

/* Selects the end of a log: as its index says, at least `count` events, and few more. Selects in this end the events
 * up to until_ns that are of these types (NULL: all types). *from_ns becomes the time from which all of them are
 * selected: INT64_MIN if the log has fewer events, or is a session, which is always read from its start. */
int ptrc_reader_select_last(struct ptrc_reader *, uint64_t count, int64_t until_ns,
			    const trace_event_set_t *types, int64_t *from_ns);

/* Reads what was added to a log since it was opened or refreshed, and forgets the parts before number `first`, as
 * ptrc_log_refresh() does. After an error, the reader can only be closed. ESTALE: another file is now at the path, or
 * the log cannot be refreshed. */
int ptrc_reader_refresh(struct ptrc_reader *, unsigned long first);

/* The greatest error of the time of the latest event, or PTRC_BOUND_UNKNOWN. */
int64_t ptrc_reader_bound(const struct ptrc_reader *);

/* The word for a truncation status of <trace.h>: "no", "record" or "read". */
const char *ptrc_truncation_word(int status);
/* That of the latest event. */
static inline const char *ptrc_reader_truncation(const struct ptrc_reader *r)
{
	return ptrc_truncation_word(r->event.posix_truncation_status);
}

/* Looks up the type for ptrc_reader_type(), and stores it, at the first event of the type. */
struct ptrc_type *ptrc_reader_new_type(struct ptrc_reader *, trace_event_id_t);

/* Returns the entry of an event type, never NULL. A type whose name is not known is named by its
 * number. All invalid identifiers share one entry. */
static inline struct ptrc_type *ptrc_reader_type(struct ptrc_reader *r, trace_event_id_t id)
{
	/* No event type has the identifier 0. */
	struct ptrc_type *type = r->types[id < PTRC_READER_IDS ? id : 0];

	return __builtin_expect(type != NULL, 1) ? type : ptrc_reader_new_type(r, id);
}

static inline const struct ptrc_reader_name *ptrc_reader_name(struct ptrc_reader *r,
							      trace_event_id_t id)
{
	return &ptrc_reader_type(r, id)->name;
}

/* Whether events were lost next to this event: in the stream or the log, see ptrc_is_loss(), or in the kernel. A stream
 * that stopped because it was full may have lost no event until it was restarted. In a complete log this is known. */
static inline bool ptrc_reader_reports_loss(struct ptrc_reader *r, trace_event_id_t id,
					    const void *data, size_t size)
{
	return (ptrc_is_loss(id, data, size) && !(id == POSIX_TRACE_STOP && r->is_complete)) ||
	       ptrc_reader_type(r, id)->is_os_lost;
}

/* Whether events are missing next to the latest event: lost, see ptrc_reader_reports_loss(), or not read. */
static inline bool ptrc_reader_is_loss(struct ptrc_reader *r)
{
	return r->is_after_lack ||
	       ptrc_reader_reports_loss(r, r->event.posix_event_id, r->data, r->size);
}

/* Whether events were lost between the latest event and the next one. */
static inline bool ptrc_reader_is_loss_open(struct ptrc_reader *r)
{
	return r->event.posix_event_id != POSIX_TRACE_RESUME &&
	       ptrc_reader_reports_loss(r, r->event.posix_event_id, r->data, r->size);
}

/* Whether and since when a trace is stopped: a STOP has come, and no START since. */
struct ptrc_reader_stop {
	bool is_stopped;
	/* The STOP was that of a full stream, and no event was lost before the START. */
	bool is_lossless;
	/* The time of the latest STOP, and the number of STOPs so far. */
	int64_t ns;
	int64_t number;
};

/* The numbers, in ascending order, of the STOPs of a trace that ptrc_reader_is_restart() follows. */
struct ptrc_reader_restarts {
	int64_t *stops;
	size_t count;
};

/* Whether the latest event, which ptrc_reader_take_stop() has not taken yet, is a START after a time without recording.
 * The time from the STOP of a full stream that lost no event to its restart is none, unless a call has stopped the stream
 * in between: otherwise the START of the restart is of no process. */
static inline bool ptrc_reader_is_restart(const struct ptrc_reader *r,
					  const struct ptrc_reader_stop *s)
{
	return r->event.posix_event_id == POSIX_TRACE_START && s->is_stopped &&
	       !(s->is_lossless && !r->event.posix_pid);
}

/* Takes the latest event. */
static inline void ptrc_reader_take_stop(const struct ptrc_reader *r, struct ptrc_reader_stop *s)
{
	if (r->event.posix_event_id == POSIX_TRACE_START)
		s->is_stopped = false;
	if (r->event.posix_event_id != POSIX_TRACE_STOP)
		return;
	*s = (struct ptrc_reader_stop){
		.is_stopped = true,
		.is_lossless = r->is_complete && ptrc_is_loss(POSIX_TRACE_STOP, r->data, r->size),
		.ns = ptrc_when_ns(&r->event.posix_timestamp),
		.number = s->number + 1,
	};
}

/* Whether the trace is stopped, and the START that follows will be a restart. */
bool ptrc_reader_will_restart(const struct ptrc_reader_restarts *, const struct ptrc_reader_stop *);

/* Whether events of this type may report the start or the end of a loss. */
static inline bool ptrc_reader_sees_losses(struct ptrc_reader *r, trace_event_id_t id)
{
	return id == POSIX_TRACE_START || id == POSIX_TRACE_STOP || id == POSIX_TRACE_OVERFLOW ||
	       id == POSIX_TRACE_RESUME || id == POSIX_TRACE_ERROR ||
	       ptrc_reader_type(r, id)->is_os_lost;
}

/* The identifier of the type with this name, or 0 if no type looked up so far has the name. */
trace_event_id_t ptrc_reader_find_type(const struct ptrc_reader *, const char *name);

/* Gives the reader an empty table of types. Its old table belongs to another reader, or the caller
 * has freed it by ptrc_reader_free_types(). */
void ptrc_reader_own_types(struct ptrc_reader *);
void ptrc_reader_free_types(struct ptrc_reader *);

/* Finds the name of a thread in the log. Most threads get their names after their first events, so the result is the
 * last entry that the log has for the number `tid`. If that entry has no name, because it is of a later thread with the
 * same number, the result is the entry at log_time. Returns false if there is no name; the first thread of a process,
 * for instance, has the name of the process. */
bool ptrc_reader_find_thread(const struct ptrc_reader *, pid_t pid, pid_t tid,
			     const struct timespec *log_time, struct posixtrace_log_thread *);

/* Finds the last entry of a process, by its number. A process gets another entry when it executes another program. */
bool ptrc_reader_find_process(const struct ptrc_reader *, pid_t, struct posixtrace_log_process *);

/* Stores the layout that the log or session has for the event type. Returns false if it has none. */
bool ptrc_reader_layout(const struct ptrc_reader *, trace_event_id_t,
			char layout[POSIXTRACE_LAYOUT_MAX + 1]);

/* Counts the events of each type in a stream or a log, as posixtrace_get_type_counts() does. Returns PTRC_READER_IDS
 * elements, which the caller frees; or NULL if a log does not have the counts. */
struct posixtrace_type_count *ptrc_type_counts(trace_id_t);

/* Looks up all event types that the log, or the session so far, has. Returns the size of the longest name in
 * bytes. */
size_t ptrc_reader_load_names(struct ptrc_reader *);

/* For a log in which COMMAND of ptrace-run ended: whether no traced process went on after it and, if the log has event
 * types of --os, events of --os=process show that each thread ended. */
bool ptrc_reader_has_none_left(const struct ptrc_reader *);

/* Fills in the losses of the source. If a log was read to its end (is_read), they include the events that the log
 * counts but that could not be read. The losses of a session are those of its latest counts, and the events that
 * were lost on the way to this reader. */
void ptrc_reader_losses(const struct ptrc_reader *, bool is_read, struct ptrc_losses *);

/* Called after a log was read to its end: counts as losses the parts that differ from what the log says about
 * them. Returns false, after a message, if the log cannot be read. */
bool ptrc_reader_verify(const struct ptrc_reader *, struct ptrc_losses *);

/* The index, in the log, of the process to which the latest event belongs, or ULONG_MAX if it is unknown. */
unsigned long ptrc_reader_process(const struct ptrc_reader *);

/* Finds what the process with this index in the log had mapped at the address. Returns false if the log does not
 * say. */
bool ptrc_log_find_mapping(trace_id_t, unsigned long process, uint64_t address,
			   struct posixtrace_log_mapping *);

#endif
