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
 * sessions: src/session/reader_follow.c fills the table in for the reader that follows one.
 * Each function does what the function of the same name below promises.
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
	/* Events of a session that could not be shown. */
	uint64_t unshown_count;
	/* It ended in order, but this reader was too slow to hear the end of it. */
	bool is_rest_unshown;
	struct ptrc_attributes attributes;
	struct posix_trace_status_info status;
	struct posixtrace_counts counts;

	/* The event that ptrc_reader_next() has read. */
	struct posix_trace_event_info event;
	unsigned char *data;
	size_t data_size;
	/* How much of data the event has. */
	size_t size;
	/* Events read so far. */
	uint64_t read_count;
	/* Error number that ended the reading, or 0. */
	int error;

	struct ptrc_reader_name *names[PTRC_READER_IDS];
};

/*
 * Opens the log and takes what it says of itself. "-" is standard input; what cannot seek
 * is copied to a temporary file first. On failure the reason has been printed, and
 * nothing is left open.
 */
bool ptrc_reader_open(struct ptrc_reader *, const char *path);

/* Why posix_trace_open() refused a file with EINVAL. */
void ptrc_reader_why_no_log(int fd, char *reason, size_t size);

void ptrc_reader_close(struct ptrc_reader *);

/*
 * Reads the next event; false at the end, with .error set if that is not the real end.
 * Of a session it waits for the next event, and the end is that of the session:
 * ECONNRESET if its controller was killed, EINTR if a handler of a signal interrupted the
 * wait, or nothing came for a while; it may go on then.
 */
bool ptrc_reader_next(struct ptrc_reader *);

/* Whether ptrc_reader_next() would wait now: the moment to write what is buffered. */
bool ptrc_reader_is_waiting(const struct ptrc_reader *);

/* Back to the first event; an error number if that fails. */
int ptrc_reader_rewind(struct ptrc_reader *);

/* The word for the truncation status of the event: "no", "record" or "read". */
const char *ptrc_reader_truncation(const struct ptrc_reader *);

/*
 * The name of an event type. Never null; identifiers that cannot be are treated as
 * unknown ones.
 */
const struct ptrc_reader_name *ptrc_reader_name(struct ptrc_reader *, trace_event_id_t);

/* Looks up all names of the log, or all that the session has by now; returns the number
 * of bytes of the longest. */
size_t ptrc_reader_load_names(struct ptrc_reader *);

/*
 * What the log says is missing. After reading to the end it includes what could not be
 * read although it should be there. Of a session: as of its end, or the last that was
 * heard of it, with the events that could not be shown.
 */
void ptrc_reader_losses(const struct ptrc_reader *, bool is_read, struct ptrc_losses *);

#endif
