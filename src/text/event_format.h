/* SPDX-License-Identifier: MIT */
/* Formats an event as a line of aligned text, of JSON or of CSV, fast enough for millions of events per second. */
#ifndef PTRC_SRC_TEXT_EVENT_FORMAT_H
#define PTRC_SRC_TEXT_EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/cli.h"
#include "src/query/reader.h"
#include "src/query/view.h"

/* The columns whose widths grow with their contents, in the order in which a line of text without --fields has
 * them. */
enum ptrc_event_column {
	PTRC_COLUMN_LOG,
	PTRC_COLUMN_PID,
	PTRC_COLUMN_TID,
	PTRC_COLUMN_EVENT,
	PTRC_COLUMN_ADDRESS,
	PTRC_COLUMN_SOURCE,
	PTRC_COLUMNS,
};

/* Starts zeroed. The owner then sets format, widths[PTRC_COLUMN_EVENT], has_log, has_symbols, is_coloured,
 * is_relative, begin_ns and time.is_local. */
struct ptrc_event_format {
	enum ptrc_format format;
	/* There are several logs, so each line names its log. */
	bool has_log;
	bool is_coloured;
	/* Each line says where in the source code the event was recorded. */
	bool has_symbols;
	/* The fields of --fields, in the order of the line; their names as the user wrote them; and the greatest
	 * width that the column of each has had so far. Without --fields, there are none, and a line has the
	 * usual fields. */
	struct ptrc_field *fields;
	char **field_names;
	int *field_widths;
	size_t field_count;
	/* The greatest width that each column has had so far. With --fields, only widths[PTRC_COLUMN_EVENT] is
	 * used, for the field `event`. */
	int widths[PTRC_COLUMNS];
	struct ptrc_time_format time;
	/* Instead of the time, text has two relative times: since the start of the trace, and since the event of
	 * the preceding line. last_ns is the time of that event, if has_last. since_before_at is the offset, in
	 * the buffer, of the second relative time of the line that was formatted last. The widths are the greatest
	 * so far. */
	bool is_relative;
	int64_t begin_ns;
	bool has_last;
	int64_t last_ns;
	size_t since_before_at;
	int since_first_width;
	int since_before_width;
	/* A cache for JSON: the text of the members from the event's name to the key of the size of its data, and
	 * the values from which that text was made. The next event mostly has the same values. */
	struct ptrc_buffer origin;
	const void *origin_label;
	pid_t origin_pid;
	pid_t origin_tid;
	pthread_t origin_thread;
	void *origin_address;
	int origin_truncation;
};

/* Adds the fields of a comma-separated list. Returns false if a field does not exist or is given twice, and
 * stores the reason. */
bool ptrc_event_fields(struct ptrc_event_format *, const char *list, const struct ptrc_layouts *,
		       struct ptrc_cli_reason *why);

/* Appends a line for the event that the view's reader has read. With --fields, if the event ends a pair (the
 * view's .begin is set), the line is for that pair. */
void ptrc_event_put(struct ptrc_buffer *, struct ptrc_event_format *, struct ptrc_view *);

/* Put the JSON members that a line of ptrc_event_put() has for the data, and for the place in the source code. */
void ptrc_event_put_data_json(struct ptrc_json *, struct ptrc_view *);
void ptrc_event_put_symbol_json(struct ptrc_json *, struct ptrc_view *);

/* Puts the JSON members that a line of ptrc_event_put() has for the event type and, if there are several logs, for
 * the log. */
void ptrc_event_put_type_json(struct ptrc_json *, const struct ptrc_event_format *,
			      struct ptrc_reader *);

/* Whether the latest event has JSON members of its own, such as "filter" or "unreadable_events", which only system
 * events have. */
bool ptrc_event_has_members(const struct ptrc_reader *);

/* Puts what ptrc_event_put_data_json() puts, and the member "unreadable_events", if the event has it. */
void ptrc_event_put_members_json(struct ptrc_json *, struct ptrc_view *);

/* Each of these appends one part of a line of text, for lines that ptrc_event_put() does not make. _time: the column of
 * the time, or the columns of the two relative times. _since_before: the second relative time. _name: a name in the
 * colour of user events. _data: the data. _source: the place in the source code. _time_name: the header of what _time
 * appends. */
void ptrc_event_put_time(struct ptrc_buffer *, struct ptrc_event_format *,
			 const struct ptrc_reader *);
void ptrc_event_put_since_before(struct ptrc_buffer *, struct ptrc_event_format *, int64_t ns);
void ptrc_event_put_name(struct ptrc_buffer *, const struct ptrc_event_format *,
			 const struct ptrc_buffer *name);
void ptrc_event_put_data(struct ptrc_buffer *, struct ptrc_view *);
void ptrc_event_put_source(struct ptrc_buffer *, struct ptrc_view *);
void ptrc_event_put_time_name(struct ptrc_buffer *, const struct ptrc_event_format *);

/* Makes the columns of text at least as wide as their names. Called before the first event if there will be a
 * header. */
void ptrc_event_widen(struct ptrc_event_format *);

/* Appends the header: the names of the columns, with their widths so far. */
void ptrc_event_put_header(struct ptrc_buffer *, const struct ptrc_event_format *);

/* The widths of the columns of text depend on the preceding lines. These functions copy the widths, as a list of
 * ptrc_event_width_count() numbers, from one format to another. */
size_t ptrc_event_width_count(const struct ptrc_event_format *);
void ptrc_event_get_widths(const struct ptrc_event_format *, int *widths);
void ptrc_event_set_widths(struct ptrc_event_format *, const int *widths);

void ptrc_event_format_free(struct ptrc_event_format *);

#endif
