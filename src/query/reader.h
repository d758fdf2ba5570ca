/* SPDX-License-Identifier: MIT */
/* Reads events from a log, or from a session that is followed. Keeps the latest event, so that several logs can be
 * merged, and looks up each event type once. */
#ifndef PTRC_SRC_QUERY_READER_H
#define PTRC_SRC_QUERY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace.h>

#include "include/posixtrace-private.h"
#include "src/base/message.h"
#include "src/query/attributes.h"
#include "src/query/correction.h"
#include "src/query/losses.h"
#include "src/query/thread_gap.h"
#include "src/query/type.h"

/* One past the greatest event type identifier. */
#define PTRC_READER_IDS (POSIX_TRACE_UNNAMED_USEREVENT + TRACE_USER_EVENT_MAX)

static inline bool ptrc_is_system_type(trace_event_id_t id)
{
	return id && id < POSIX_TRACE_UNNAMED_USEREVENT;
}

struct ptrc_reader;
/* The state of a followed session, defined by src/session/reader_follow.c. */
struct ptrc_reader_input;

/* The functions of a reader whose log comes in parts from a session. src/session/reader_follow.c provides them. */
struct ptrc_reader_source {
	/* Waits for the next part of the log. Returns false at its end, or with .error set (see
	 * ptrc_reader_next()). */
	bool (*receive)(struct ptrc_reader *);
	/* Whether that would wait now. */
	bool (*is_waiting)(const struct ptrc_reader *);
	/* Goes back to the first event. Called only after the end of the session. */
	int (*rewind)(struct ptrc_reader *);
	/* Frees .input. */
	void (*close)(struct ptrc_reader *);
};

/* The loss that an OVERFLOW starts. */
struct ptrc_reader_gap {
	/* The log is damaged there. */
	bool is_damage;
	/* The number of unreadable events, unless that is unknown. */
	bool is_uncounted;
	uint64_t events;
};

/* A block of events, which ptrc_reader_block_free() frees. */
struct ptrc_reader_block {
	struct posixtrace_block *events;
	/* The number of events taken. */
	size_t at;
	/* Set if the last event is an OVERFLOW. */
	struct ptrc_reader_gap gap;
	/* For each event the time since the event before of the same thread; NULL without ptrc_reader_watch_threads().
	 * Used again for the next block. */
	int64_t *since_before;
};

struct ptrc_reader {
	/* The path of the log, or the name of the session. */
	const char *path;
	int fd;
	trace_id_t trace;
	/* The log of a session that is not closed yet, which is no loss. Then the reader owns its path. */
	bool is_growing;
	char *own_path;
	/* Both are NULL if the log is a file. */
	const struct ptrc_reader_source *source;
	struct ptrc_reader_input *input;
	/* Events of a session that were lost on the way to this reader, and whether these include an unknown number of
	 * events at its end. */
	uint64_t unshown_count;
	bool is_rest_unshown;
	/* The session's earlier events were in a log that is no longer at its path. */
	bool is_log_gone;
	struct ptrc_attributes attributes;
	struct posix_trace_status_info status;
	struct ptrc_counts counts;

	/* The latest event. Its data stays valid until the next one is read. */
	struct posix_trace_event_info event;
	const unsigned char *data;
	size_t size;
	/* The block that it is from. */
	struct ptrc_reader_block block;
	/* Nanoseconds since the event before it of the same thread, or PTRC_THREAD_GAP_NONE. */
	int64_t since_before;
	/* NULL without ptrc_reader_watch_threads(). */
	struct ptrc_thread_gap *before;
	/* The user's name for the host of the log, owned; NULL: the log's own. */
	char *label;
	/* Makes times comparable with those of other logs; NULL: times are unchanged. If it changes them, log_time is
	 * the time of the event in the log. */
	const struct ptrc_correction *correction;
	struct timespec log_time;
	/* The time in the log of the last event of the block. */
	struct timespec block_end;
	/* Events read so far. */
	uint64_t read_count;
	/* The loss of the latest OVERFLOW, and the counts after it. */
	struct ptrc_reader_gap gap;
	struct ptrc_counts gap_counts;
	/* The error number that ended the reading, or 0. */
	int error;

	/* By identifier, PTRC_READER_IDS of them: the types looked up so far, else NULL. Copies of the reader share
	 * them. */
	struct ptrc_type **types;
	/* The source as src/text shows it: one allocation, freed with the types; NULL until it is needed. */
	void *label_in_lines;
};

/* Opens a log, or "-" for standard input, and reads its attributes, status and counts. A pipe, which cannot seek, is
 * copied to a temporary file first. On failure prints the reason, returns false and leaves nothing open. */
bool ptrc_reader_open(struct ptrc_reader *, const char *path);

/* The number that all files of a log have in common, and no other log has; 0: the file is no log. */
uint64_t ptrc_reader_log_id(const char *path);

/* Whether the name has the form of a rotated log's later file; stores the length of the first file's name. */
bool ptrc_reader_is_later_name(const char *name, size_t *base);

/* Whether a file exists at the path, or a rotated log whose first file, now missing, had it. */
bool ptrc_reader_is_there(const char *path);

/* Whether the file starts like a log of any version and machine. */
bool ptrc_reader_is_log(int fd);

/* Stores why posix_trace_open() refused a file with EINVAL. */
void ptrc_reader_why_no_log(int fd, struct ptrc_cli_reason *);

void ptrc_reader_close(struct ptrc_reader *);

/*
 * Reads the next event; for a session, waits for it. Returns false at the end, or with .error set if the rest cannot
 * be read: ECONNRESET if the session's controller was killed; EINTR if a signal handler ran or no event came for a
 * while, after which the caller may call again.
 */
bool ptrc_reader_next(struct ptrc_reader *);

/* Replaces ptrc_reader_next(): reads the next block, which the caller frees. Returns false at the end, or with .error
 * set. */
bool ptrc_reader_next_block(struct ptrc_reader *, struct ptrc_reader_block *);

void ptrc_reader_block_free(struct ptrc_reader_block *);

/* Makes .since_before valid, for which the reader reads all events, selected or not. Called before the first event. */
void ptrc_reader_watch_threads(struct ptrc_reader *);

/* Corrects the time of the latest event. */
void ptrc_reader_correct(struct ptrc_reader *);

/* The name of the source in output. */
static inline const char *ptrc_reader_shown_name(const struct ptrc_reader *r)
{
	return r->label ? r->label : r->path;
}

/* Whether the correction changes times. */
static inline bool ptrc_reader_is_moving(const struct ptrc_reader *r)
{
	return r->correction && r->correction->is_moving;
}

/* The uncorrected time of the latest event, by which other parts of the log are looked up. */
static inline const struct timespec *ptrc_reader_log_time(const struct ptrc_reader *r)
{
	return ptrc_reader_is_moving(r) ? &r->log_time : &r->event.posix_timestamp;
}

/* The uncorrected time for the corrected time of an event. */
struct timespec ptrc_reader_log_time_of(const struct ptrc_reader *, const struct timespec *);

/* Takes the next event of the block as the latest one. Returns false at the end of the block. */
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

/* Whether the latest event is the OVERFLOW of a damaged place. */
static inline bool ptrc_reader_is_at_damage(const struct ptrc_reader *r)
{
	return r->event.posix_event_id == POSIX_TRACE_OVERFLOW && r->gap.is_damage;
}

/* Whether ptrc_reader_next() would wait now. */
bool ptrc_reader_is_waiting(struct ptrc_reader *);

/* After all events: makes the latest event's time that of the last event of the log. Its other members are not valid. */
void ptrc_reader_go_to_end(struct ptrc_reader *);

/* The following return an error number, or 0. */

/* Goes back to the first event of a log. */
int ptrc_reader_rewind(struct ptrc_reader *);

/* Goes back to the first event of a log, and selects events as posixtrace_log_select() does. From a session all are
 * read. */
int ptrc_reader_select(struct ptrc_reader *, const struct posixtrace_span *, size_t count,
		       const trace_event_set_t *types);

/* Reads parts of a log file in the order in which they were written, as ptrc_log_select_parts() does. */
int ptrc_reader_select_parts(struct ptrc_reader *, unsigned long first, unsigned long end);

/* Selects the part of a log that has at least the last `count` events, as far as its index says, and of that the events
 * until a time and of these types (NULL: all). Stores whether that is everything, as it always is for a session. */
int ptrc_reader_select_last(struct ptrc_reader *, uint64_t count, int64_t until_ns,
			    const trace_event_set_t *types, bool *is_all);

/* Reads what was added to a log since it was opened, as ptrc_log_refresh() does. On error, such as ESTALE if another file
 * is at the path, the reader can only be closed. */
int ptrc_reader_refresh(struct ptrc_reader *, unsigned long first);

/* How wrong the time of the latest event may be, or PTRC_BOUND_UNKNOWN. */
int64_t ptrc_reader_bound(const struct ptrc_reader *);

/* The truncation status of the latest event: "no", "record" or "read". */
const char *ptrc_reader_truncation(const struct ptrc_reader *);

/* The rare part of ptrc_reader_type(). */
struct ptrc_type *ptrc_reader_new_type(struct ptrc_reader *, trace_event_id_t);

/* The record of an event type. Never NULL: a type without a known name is named by its number, and all invalid
 * identifiers are one type. */
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

/* The type of that name among those looked up so far, or 0. */
trace_event_id_t ptrc_reader_find_type(const struct ptrc_reader *, const char *name);

/* Gives the reader an empty table of types. The caller has freed the old one, or another reader owns it. */
void ptrc_reader_own_types(struct ptrc_reader *);
void ptrc_reader_free_types(struct ptrc_reader *);

/* Finds the last name of a thread in the log, as most threads get theirs after their first events; if a later thread of
 * the same number has no name, the one at this time. Returns false if there is none, as for the first thread of a
 * process, which has the name of the process. */
bool ptrc_reader_find_thread(const struct ptrc_reader *, pid_t pid, pid_t tid,
			     const struct timespec *log_time, struct posixtrace_log_thread *);

/* Finds a process by its last name, which changes when it executes another program. */
bool ptrc_reader_find_process(const struct ptrc_reader *, pid_t, struct posixtrace_log_process *);

/* Stores the layout of an event type in the log or session. Returns false if it has none. */
bool ptrc_reader_layout(const struct ptrc_reader *, trace_event_id_t,
			char layout[POSIXTRACE_LAYOUT_MAX + 1]);

/* Looks up all types that the log, or the session so far, has. Returns the bytes of the longest name. */
size_t ptrc_reader_load_names(struct ptrc_reader *);

/* Whether a closed log shows that all traced processes ended: ptrace-run recorded the end of COMMAND and no process that
 * went on. */
bool ptrc_reader_have_all_ended(const struct ptrc_reader *);

/* Stores what is missing. If a log was read to its end (is_read), this includes events that it counts but that could not
 * be read. For a session, this is what its latest counts say, and the events lost on the way to this reader. */
void ptrc_reader_losses(const struct ptrc_reader *, bool is_read, struct ptrc_losses *);

/* After a log was read to its end: counts the parts that differ from what the log says about them as losses. Returns
 * false, after a message, if it cannot be read. */
bool ptrc_reader_verify(const struct ptrc_reader *, struct ptrc_losses *);

/* The index in the log of the process of the latest event, or ULONG_MAX. */
unsigned long ptrc_reader_process(const struct ptrc_reader *);

/* Finds what the process with this index had mapped at the address. Returns false if the log does not say. */
bool ptrc_log_find_mapping(trace_id_t, unsigned long process, uint64_t address,
			   struct posixtrace_log_mapping *);

#endif
