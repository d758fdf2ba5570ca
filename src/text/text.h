/* SPDX-License-Identifier: MIT */
/* Events as lines of text, JSON or CSV: the sink of ptrace-dump, which also counts them and sums up. */
#ifndef PTRC_SRC_TEXT_TEXT_H
#define PTRC_SRC_TEXT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/text/event_format.h"
#include "src/text/lines.h"
#include "src/query/query.h"

struct ptrc_text {
	struct ptrc_query *query;
	struct ptrc_event_format format;
	/* Only the number of the events is shown. */
	bool is_counting;
	/* Text begins with a line that names its columns, which was not shown yet. */
	bool is_header_due;
	bool has_summary;
	/* How many threads format the events; 0: as many as there are processors. */
	unsigned int thread_count;
	/* The lines of the last events, if only these are shown. */
	struct ptrc_lines last;
};

/* Lets the events of the query, whose sources are open, be shown. Another sink may take the place of this one then,
 * and use its format. */
void ptrc_text_begin(struct ptrc_text *);

/* For --count: counts the events by what the logs say of themselves. Returns false if they do not, or if something
 * else is wanted. */
bool ptrc_text_count(struct ptrc_text *);

/* Has the query run, after ptrc_query_scan(), or reads the last events from the end if only these are shown. Returns
 * whether the logs were read to their ends. */
bool ptrc_text_show(struct ptrc_text *);

/* Shows those of the lines whose events happened at since_ns or later, and empties the list. */
void ptrc_text_put_lines(struct ptrc_text *, struct ptrc_lines *, int64_t since_ns);

/* Ends the query, and shows the count and the summary. The status says whether anything failed so far. Returns
 * the exit status. */
enum ptrc_exit ptrc_text_end(struct ptrc_text *, enum ptrc_exit status, bool is_read);

/* After the last line: frees what it holds, before the sources are closed. */
void ptrc_text_free(struct ptrc_text *);

/* ---- text_follow.c: following a session ---- */

/* Makes a signal that would end the process end the following, so that counts and losses
 * are still told. A second such signal ends the process. */
void ptrc_text_catch_signals(void);

/* If a signal has ended the following, ends the process by that signal. */
void ptrc_text_raise_signal(void);

/* Shows the events of the session as they come. Returns whether it reached the end of the
 * session. */
bool ptrc_text_follow(struct ptrc_text *);

#endif
