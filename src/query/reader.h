/* SPDX-License-Identifier: MIT */
/*
 * Reads events from a log, or from a session that is followed. Says why a log cannot be
 * opened, looks up each event name once, and keeps the event that was read last, so that
 * several logs can be merged.
 */
#ifndef PTRC_SRC_QUERY_READER_H
#define PTRC_SRC_QUERY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace.h>

#include "include/posixtrace-private.h"
#include "src/base/message.h"
#include "src/query/attributes.h"
#include "src/query/thread_gap.h"
#include "src/query/correction.h"
#include "src/query/losses.h"
#include "src/query/type.h"

/* Event type identifiers are below this. */
#define PTRC_READER_IDS (POSIX_TRACE_UNNAMED_USEREVENT + TRACE_USER_EVENT_MAX)

/* Whether the type is a system event type. 0 is no type. */
static inline bool ptrc_is_system_type(trace_event_id_t id)
{
	return id && id < POSIX_TRACE_UNNAMED_USEREVENT;
}

struct ptrc_reader;
/* The state of a source, which only src/session/reader_follow.c knows. */
struct ptrc_reader_input;

/*
 * What a reader calls if its log comes in parts, from a session. This room knows nothing of
 * sessions, so src/session/reader_follow.c provides the functions.
 */
struct ptrc_reader_source {
	/* Waits for the next part of the log. Returns false at its end, or with .error set, as
	 * ptrc_reader_next() says. */
	bool (*receive)(struct ptrc_reader *);
	/* Whether that would wait now. */
	bool (*is_waiting)(const struct ptrc_reader *);
	/* Goes back to the first event; only if the events are no longer coming. */
	int (*rewind)(struct ptrc_reader *);
	/* Frees .input. */
	void (*close)(struct ptrc_reader *);
};

/* What an OVERFLOW stands for. */
struct ptrc_reader_gap {
	/* It begins a place where the log is damaged. How many events are not readable there, unless
	 * that is not known. */
	bool is_damage;
	bool is_uncounted;
	uint64_t events;
};

/* Some events of a log. */
struct ptrc_reader_block {
	struct posixtrace_block *events;
	/* How many of them were taken. */
	size_t at;
	/* Of the OVERFLOW that is the last one, if there is one. */
	struct ptrc_reader_gap gap;
	/* By event: the time since the event before of the same thread; null if nobody asks. Owned,
	 * and used again for the next events: ptrc_reader_block_free() frees it. */
	int64_t *since_before;
};

struct ptrc_reader {
	/* The path of the log, or the name of the session. */
	const char *path;
	int fd;
	/* The log. */
	trace_id_t trace;
	/* The log is that of a session and has no end yet, as it should. Then the reader owns its
	 * path. */
	bool is_growing;
	char *own_path;
	/* Both are null if the log is a file. */
	const struct ptrc_reader_source *source;
	struct ptrc_reader_input *input;
	/* Events of a session that were lost on the way to this reader. */
	uint64_t unshown_count;
	/* The session was shut down, but this reader was too slow to get its last events. */
	bool is_rest_unshown;
	struct ptrc_attributes attributes;
	struct posix_trace_status_info status;
	struct ptrc_counts counts;

	/* The event that ptrc_reader_next() has read, and the size of its data. Before the next one
	 * is read the data stays where it is. */
	struct posix_trace_event_info event;
	const unsigned char *data;
	size_t size;
	/* The events of a log come by the block: the block, and how many of it have been read. */
	struct ptrc_reader_block block;
	/* Nanoseconds since the event before it of the same thread, or PTRC_THREAD_GAP_NONE. */
	int64_t since_before;
	/* Null: nobody asks for these. */
	struct ptrc_thread_gap *before;
	/* What the user calls the host of the log, owned; null: what the log says. */
	char *label;
	/* What makes the log's times comparable with those of others; null: they are taken as they are. If it
	 * moves them, log_time is what the log says of the event. */
	const struct ptrc_correction *correction;
	struct timespec log_time;
	/* The time, as the log has it, of the last event of the block. */
	struct timespec block_end;
	/* Events read so far. */
	uint64_t read_count;
	/* What the OVERFLOW that was read last stands for. */
	struct ptrc_reader_gap gap;
	/* The counts after that OVERFLOW. */
	struct ptrc_counts gap_counts;
	/* The error number that ended the reading, or 0. */
	int error;

	/* By identifier, PTRC_READER_IDS of them: the types that have been looked up; null: it has not. A copy of
	 * the reader shares them. */
	struct ptrc_type **types;
	/* What lines say of the source: one allocation, which goes with the types; null until it is needed. */
	void *label_in_lines;
};

/*
 * Opens a log, "-" for standard input, and reads its attributes, status and counts. What
 * cannot seek, such as a pipe, is copied to a temporary file first. On failure it prints
 * the reason, returns false and leaves nothing open.
 */
bool ptrc_reader_open(struct ptrc_reader *, const char *path);

/* Whether there is something at the path, or a rotated log whose first file would be there. */
bool ptrc_reader_is_there(const char *path);

/* Whether the file begins as logs do, of any version and machine. */
bool ptrc_reader_is_log(int fd);

/* Stores why posix_trace_open() refused a file with EINVAL. */
void ptrc_reader_why_no_log(int fd, struct ptrc_cli_reason *);

void ptrc_reader_close(struct ptrc_reader *);

/*
 * Reads the next event. Returns false at the end, or with .error set if the rest cannot be
 * read. If a session is followed, waits for its next event or its end. The error is
 * ECONNRESET if the session's controller was killed. EINTR means that a signal handler ran,
 * or that no event came for a while, and the caller may call again.
 */
bool ptrc_reader_next(struct ptrc_reader *);

/*
 * For a log that is not read by ptrc_reader_next(): reads the next block, which the caller frees.
 * Returns false at the end, or with .error set.
 */
bool ptrc_reader_next_block(struct ptrc_reader *, struct ptrc_reader_block *);

void ptrc_reader_block_free(struct ptrc_reader_block *);

/*
 * From now on each event tells how long it was after the event before it of the same thread. For that
 * the reader reads all events, whatever is selected. Is called before the first one is read.
 */
void ptrc_reader_watch_threads(struct ptrc_reader *);

/* Corrects the time of the event that was read. */
void ptrc_reader_correct(struct ptrc_reader *);

/* What people call what the reader reads, beside others. */
static inline const char *ptrc_reader_shown_name(const struct ptrc_reader *r)
{
	return r->label ? r->label : r->path;
}

/* Whether times differ from what the log says. */
static inline bool ptrc_reader_is_moving(const struct ptrc_reader *r)
{
	return r->correction && r->correction->is_moving;
}

/* The time of the event that was read as the log has it, for what else the log says by its time. */
static inline const struct timespec *ptrc_reader_log_time(const struct ptrc_reader *r)
{
	return ptrc_reader_is_moving(r) ? &r->log_time : &r->event.posix_timestamp;
}

/* The same of the time that an event of the reader had. */
struct timespec ptrc_reader_log_time_of(const struct ptrc_reader *, const struct timespec *);

/* Makes the next event of the block the one that the reader, or a copy of it, has read. Returns
 * false at the end of the block. */
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

/* Whether the event that was read begins a place where the log is damaged. */
static inline bool ptrc_reader_is_at_damage(const struct ptrc_reader *r)
{
	return r->event.posix_event_id == POSIX_TRACE_OVERFLOW && r->gap.is_damage;
}

/* Whether ptrc_reader_next() would wait now. The caller then writes its buffer first. */
bool ptrc_reader_is_waiting(struct ptrc_reader *);

/* Makes the time of the last event that the log has that of the event that was read; its other members are of
 * no use then. Is called after all events have been read. */
void ptrc_reader_go_to_end(struct ptrc_reader *);

/* Goes back to the first event of a log. Returns an error number, or 0. */
int ptrc_reader_rewind(struct ptrc_reader *);

/*
 * Goes back to the first event of a log, and says which ones the caller wants, as
 * posixtrace_log_select() does. From a session all are read. Returns an error number, or 0.
 */
int ptrc_reader_select(struct ptrc_reader *, const struct posixtrace_span *, size_t count,
		       const trace_event_set_t *types);

/* Has parts of a log that is a file read in the order in which they were written, as
 * ptrc_log_select_parts() does. Returns an error number, or 0. */
int ptrc_reader_select_parts(struct ptrc_reader *, unsigned long first, unsigned long end);

/*
 * Selects the part of a log in which at least the last `count` events are, as far as the log tells
 * without being read, of those until a time and of these types (null: all). Stores whether that is
 * everything, as it always is of a source. Returns an error number, or 0.
 */
int ptrc_reader_select_last(struct ptrc_reader *, uint64_t count, int64_t until_ns,
			    const trace_event_set_t *types, bool *is_all);

/*
 * Looks at what a log has got since it was opened, as ptrc_log_refresh() does. Returns an error number,
 * or 0. On error, as ESTALE if there is another file at the path, the reader can only be closed.
 */
int ptrc_reader_refresh(struct ptrc_reader *, unsigned long first);

/* The bound of the time of the event that was read, or PTRC_BOUND_UNKNOWN. */
int64_t ptrc_reader_bound(const struct ptrc_reader *);

/* The word for the truncation status of the event: "no", "record" or "read". */
const char *ptrc_reader_truncation(const struct ptrc_reader *);

/* Looks the type up, of which nothing was known yet. */
struct ptrc_type *ptrc_reader_new_type(struct ptrc_reader *, trace_event_id_t);

/* The record of an event type. Never NULL: an unknown type gets a name made of its number, and all
 * impossible identifiers are one type. */
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

/* The type of that name, of those that have been looked up; 0: there is none. */
trace_event_id_t ptrc_reader_find_type(const struct ptrc_reader *, const char *name);

/* Gives the reader an empty table of types; the caller has freed the one before, or another reader has it. */
void ptrc_reader_own_types(struct ptrc_reader *);
/* Frees the table, with all that it holds. */
void ptrc_reader_free_types(struct ptrc_reader *);

/*
 * Finds the last name that the log tells of a thread, at whatever time it came: most threads get their own
 * behind their first events. If a later thread of the same number has none, that is the name at this time.
 * Returns false if there is none. The first thread of a process has the name of that, and is not found.
 */
bool ptrc_reader_find_thread(const struct ptrc_reader *, pid_t pid, pid_t tid,
			     const struct timespec *log_time, struct posixtrace_log_thread *);

/* The same of a process, which has another name once it executes another program. */
bool ptrc_reader_find_process(const struct ptrc_reader *, pid_t, struct posixtrace_log_process *);

/* Stores the layout that the log or session tells of an event type. Returns false if it tells none. */
bool ptrc_reader_layout(const struct ptrc_reader *, trace_event_id_t,
			char layout[POSIXTRACE_LAYOUT_MAX + 1]);

/* Looks up all names that the log, or so far the session, has. Returns the length in bytes of
 * the longest one. */
size_t ptrc_reader_load_names(struct ptrc_reader *);

/* Whether a log that is closed says that all traced processes had ended before: it is one of ptrace-run, which
 * recorded the end of COMMAND and no process that went on. */
bool ptrc_reader_have_all_ended(const struct ptrc_reader *);

/*
 * Stores what is missing. Of a log that was read to its end (is_read), this includes the
 * events that it counts but that could not be read. Of a session, this is what was missing
 * when it last sent its counts, and the events lost on the way to this reader.
 */
void ptrc_reader_losses(const struct ptrc_reader *, bool is_read, struct ptrc_losses *);

/* Compares what a log that was read to its end says of its parts, and adds to its losses the parts that say
 * different things. Returns false, after a message, if it cannot. */
bool ptrc_reader_verify(const struct ptrc_reader *, struct ptrc_losses *);

/* The number by which the log knows the process of the event that was read last; ULONG_MAX if it does not. */
unsigned long ptrc_reader_process(const struct ptrc_reader *);

/* Finds what the process with this number had mapped at the address. Returns false if the log does not tell. */
bool ptrc_log_find_mapping(trace_id_t, unsigned long process, uint64_t address,
			   struct posixtrace_log_mapping *);

#endif
