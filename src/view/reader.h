/* SPDX-License-Identifier: MIT */
/*
 * A log being read, or a session being followed: opened with reasons that a user
 * understands, its event names looked up once each, its next event at hand so that
 * several logs can be merged.
 */
#ifndef PTRC_SRC_VIEW_READER_H
#define PTRC_SRC_VIEW_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace.h>

#include "src/cli/message.h"
#include "src/view/attributes.h"
#include "src/view/losses.h"

/* Event type identifiers are below this. */
#define PTRC_READER_IDS 1033U

/* Is it one of those that the standard names? 0 is no type. */
static inline bool ptrc_is_system_type(trace_event_id_t id)
{
	return id && id < POSIX_TRACE_UNNAMED_USEREVENT;
}

struct ptrc_reader_name {
	/* The log knows the name; otherwise the text is made up from the number. */
	bool is_known;
	size_t size;
	char text[TRACE_EVENT_NAME_MAX + 1];
};

struct ptrc_reader;
/* The state of a source; only the file that implements the source knows what is in it. */
struct ptrc_reader_input;

/*
 * What a reader calls when its events do not come from a log. This room knows nothing of
 * sessions: src/session/reader_follow.c fills the table in for the reader that follows
 * one. Each function does what the function of the same name below promises.
 */
struct ptrc_reader_source {
	bool (*next)(struct ptrc_reader *);
	bool (*is_waiting)(const struct ptrc_reader *);
	/* Fills in .names; it has no need to return the longest. */
	void (*load_names)(struct ptrc_reader *);
	/* Frees .input. */
	void (*close)(struct ptrc_reader *);
};

struct ptrc_reader {
	/* The path of the log, or the name of the session. */
	const char *path;
	int fd;
	/* The log; unused when there is a source. */
	trace_id_t trace;
	/* Null, both, if the reader reads a log. */
	const struct ptrc_reader_source *source;
	struct ptrc_reader_input *input;
	/* Events of a session that were lost on the way to this reader. */
	uint64_t unshown_count;
	/* The session ended in order, but this reader was too slow to get its last
	 * events. */
	bool is_rest_unshown;
	struct ptrc_attributes attributes;
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;

	/* The event that ptrc_reader_next() has read. */
	struct posix_trace_event_info event;
	unsigned char *data;
	size_t data_size;
	/* The number of bytes of data that belong to the event. */
	size_t size;
	/* Events read so far. */
	uint64_t read_count;
	/* The error number that ended the reading, or 0. */
	int error;

	struct ptrc_reader_name *names[PTRC_READER_IDS];
};

/*
 * Opens the log and reads its attributes, status and counts. "-" is standard input; a
 * pipe and the like is copied to a temporary file first. On failure it prints the reason,
 * returns false and leaves nothing open.
 */
bool ptrc_reader_open(struct ptrc_reader *, const char *path);

/* Stores why posix_trace_open() refused a file with EINVAL. */
void ptrc_reader_why_no_log(int fd, struct ptrc_cli_reason *);

void ptrc_reader_close(struct ptrc_reader *);

/*
 * Reads the next event. Returns false at the end, with .error set if the log is not read
 * to its end. With a session it waits for the next event, until the session ends. The
 * error then is ECONNRESET if the controller of the session was killed. EINTR is no end:
 * a signal handler interrupted the wait, or no event came for a while, and the caller may
 * call again.
 */
bool ptrc_reader_next(struct ptrc_reader *);

/* Whether ptrc_reader_next() would wait now, so that the caller should write its buffer
 * before. */
bool ptrc_reader_is_waiting(const struct ptrc_reader *);

/* Goes back to the first event of a log. Returns an error number. */
int ptrc_reader_rewind(struct ptrc_reader *);

/* The word for the truncation status of the event: "no", "record" or "read". */
const char *ptrc_reader_truncation(const struct ptrc_reader *);

/* The name of an event type. Never null: an identifier that is unknown or impossible has
 * a name made of its number. */
const struct ptrc_reader_name *ptrc_reader_name(struct ptrc_reader *, trace_event_id_t);

/* Looks up all names that the log has, or the session has by now. Returns the length in
 * bytes of the longest one. */
size_t ptrc_reader_load_names(struct ptrc_reader *);

/*
 * Stores what is missing according to the log. After the log was read to its end, this
 * includes the events that it counts but that could not be read. For a session it is what
 * was missing at its end, or when it last told, and the events lost on the way to this
 * reader.
 */
void ptrc_reader_losses(const struct ptrc_reader *, bool is_read, struct ptrc_losses *);

#endif
