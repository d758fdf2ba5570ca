/* SPDX-License-Identifier: MIT */
/* Events as lines of text, JSON or CSV: the sink of ptrace-dump, which also counts them and sums up. */
#ifndef PTRC_SRC_TEXT_TEXT_H
#define PTRC_SRC_TEXT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/query/query.h"
#include "src/text/event_format.h"

/* A line of output that waits until it is known whether it is shown. */
struct ptrc_line {
	struct ptrc_line *next;
	/* The time of the event, in nanoseconds since 1970. */
	int64_t ns;
	size_t used;
	char text[];
};

/* A list of lines, the oldest first. Starts zeroed. */
struct ptrc_lines {
	struct ptrc_line *first;
	struct ptrc_line *last;
	size_t count;
	/* Their memory. */
	size_t bytes;
};

struct ptrc_text {
	struct ptrc_query *query;
	struct ptrc_event_format format;
	/* Only the number of events is shown. */
	bool is_counting;
	/* A header with the names of the columns precedes the first line, and was not shown yet. */
	bool is_header_due;
	bool has_summary;
	/* The number of threads that format the events; 0: one for each processor. */
	unsigned int thread_count;
	/* The lines of the last events, if --last shows only these. */
	struct ptrc_lines last;
};

/* Moves the text from the buffer to a new line. */
void ptrc_lines_add(struct ptrc_lines *, int64_t ns, struct ptrc_buffer *);

/* For --last: does the same, but drops the oldest line if there are `max` already. With 0, drops the text. */
void ptrc_lines_keep(struct ptrc_lines *, uint64_t max, struct ptrc_buffer *);

/* Frees the oldest line. There must be one. */
void ptrc_lines_drop(struct ptrc_lines *);

/* Makes this the sink of the query, whose sources are open. Another sink may replace it and use its format. */
void ptrc_text_begin(struct ptrc_text *);

/* For --count: takes the counts of events from the logs without reading the events. Returns false if the logs do not
 * have them, or if something else is wanted. */
bool ptrc_text_count(struct ptrc_text *);

/* After ptrc_query_scan(): runs the query or, for --last, reads the events from the end. Returns whether the logs
 * were read to their ends. */
bool ptrc_text_show(struct ptrc_text *);

/* Shows those of the lines whose events happened at since_ns or later, and empties the list. */
void ptrc_text_put_lines(struct ptrc_text *, struct ptrc_lines *, int64_t since_ns);

/* Ends the query, and shows the count and the summary. The status says whether anything failed so far. Returns the
 * exit status. */
enum ptrc_exit ptrc_text_end(struct ptrc_text *, enum ptrc_exit status, bool is_read);

/* ---- text_threads.c: several threads ---- */

/* Shows or counts the events of a log with several threads, in place of ptrc_query_run(). Returns false, having done
 * nothing, if one thread has to do it or no other can be started. */
bool ptrc_text_by_threads(struct ptrc_text *);

/* ---- text_follow.c: following a session ---- */

/* Lets the first signal that would end the process only stop the following, so that counts and losses are still
 * reported. A second one ends the process. */
void ptrc_text_catch_signals(void);

/* If a signal stopped the following, ends the process by that signal. */
void ptrc_text_raise_signal(void);

/* Shows the events of the session as they come. Returns whether it reached the end of the session. */
bool ptrc_text_follow(struct ptrc_text *);

#endif
