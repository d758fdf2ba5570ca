/* SPDX-License-Identifier: MIT */
/* The sink that ptrace-dump uses unless an option asks for pairs or a tree: it prints events as lines of text, JSON or
 * CSV, or as typed columns, or counts them. */
#ifndef PTRC_SRC_TEXT_TEXT_H
#define PTRC_SRC_TEXT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/query/query.h"
#include "src/text/columns.h"
#include "src/text/event_format.h"

/* A line of output, or a block of columns with one event, that is kept until it is known whether it is shown. */
struct ptrc_line {
	struct ptrc_line *next;
	/* The time of the event, in nanoseconds since 1970; 0 in lines that are kept for --last. */
	int64_t ns;
	/* For --follow --around --relative: where the text has the time since the event of the preceding line,
	 * which is not known before the line is shown. The size is 0 if the text has no such time. */
	size_t since_before_at;
	size_t since_before_size;
	size_t used;
	char text[];
};

/* A list of lines, the oldest first. Starts zeroed. */
struct ptrc_lines {
	struct ptrc_line *first;
	struct ptrc_line *last;
	size_t count;
	/* The memory that the lines take. */
	size_t bytes;
};

struct ptrc_text {
	struct ptrc_query *query;
	struct ptrc_event_format format;
	/* For PTRC_FORMAT_COLUMNS: the events that were not written yet. */
	struct ptrc_columns columns;
	/* --count: only the number of events is shown. */
	bool is_counting;
	/* A header with the names of the columns must precede the first line, and was not written yet. */
	bool is_header_due;
	bool has_summary;
	/* The number of threads that format the events; 0: one for each processor. */
	unsigned int thread_count;
	/* The lines of the last events, if --last was given. */
	struct ptrc_lines last;
};

/* Appends to the buffer a line for the event that the view's reader has read. In columns, the event becomes a row
 * of a block, which is appended to the buffer when it is full. */
static inline void ptrc_text_add(struct ptrc_text *t, struct ptrc_buffer *b, struct ptrc_view *view)
{
	if (__builtin_expect(t->format.format == PTRC_FORMAT_COLUMNS, 0))
		ptrc_columns_put(&t->columns, b, &t->format, view);
	else
		ptrc_event_put(b, &t->format, view);
}

/* Appends the event to the buffer in a line or, as columns, in a block of its own. The block that was being filled is
 * first appended to the query's output. */
void ptrc_text_add_alone(struct ptrc_text *, struct ptrc_buffer *, struct ptrc_view *);

/* Moves the text of the buffer into a new line at the end of the list. */
void ptrc_lines_add(struct ptrc_lines *, int64_t ns, struct ptrc_buffer *);

/* For --last: moves the text of the buffer into a new line at the end of the list, and drops the oldest line if
 * there are `max` lines already. If `max` is 0, drops the text. */
void ptrc_lines_keep(struct ptrc_lines *, uint64_t max, int64_t ns, struct ptrc_buffer *);

/* Frees the oldest line. There must be one. */
void ptrc_lines_drop(struct ptrc_lines *);

/* Has the query, whose sources are open, give its events to this sink. Another sink may replace it and use
 * its .format. */
void ptrc_text_begin(struct ptrc_text *);

/* For --count: takes the numbers of events that the logs themselves have, without reading the
 * events. Returns false if the logs do not have these numbers, or if events are selected by more
 * than their types. */
bool ptrc_text_count(struct ptrc_text *);

/* Called after ptrc_query_scan(): runs the query or, for --last, reads the events at the end of the logs. Returns
 * whether the logs were read to their ends. */
bool ptrc_text_show(struct ptrc_text *);

/* Shows those lines of the list whose events happened at since_ns or later, and empties the list. */
void ptrc_text_put_lines(struct ptrc_text *, struct ptrc_lines *, int64_t since_ns);

/* Ends the query, and shows the count and the summary. `status` is the exit status so far. Returns the final exit
 * status. */
enum ptrc_exit ptrc_text_end(struct ptrc_text *, enum ptrc_exit status, bool is_read);

/* ---- text_threads.c: several threads ---- */

/* Shows or counts the events of a log with several threads, in place of ptrc_query_run(). Returns false, having
 * done nothing, if one thread must do it alone, or if no other thread can be started. */
bool ptrc_text_by_threads(struct ptrc_text *);

/* ---- text_follow.c: following a session ---- */

/* Shows the events of the session as they come, until an end signal (src/base/end_signal.h) comes. Returns whether
 * it reached the end of the session. */
bool ptrc_text_follow(struct ptrc_text *);

#endif
