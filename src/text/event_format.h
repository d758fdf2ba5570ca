/* SPDX-License-Identifier: MIT */
/*
 * Puts an event as a line, of aligned text, of JSON or of CSV. Millions of events per second pass
 * here.
 */
#ifndef PTRC_SRC_TEXT_EVENT_FORMAT_H
#define PTRC_SRC_TEXT_EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/base/cli.h"
#include "src/base/output.h"
#include "src/query/reader.h"
#include "src/query/view.h"

/* Starts zeroed but for format, name_width, has_log, is_coloured, is_relative and
 * time.is_local. */
struct ptrc_event_format {
	enum ptrc_format format;
	/* The width in columns, in text, of the event's name and of the log. */
	int name_width;
	int log_width;
	/* There are several logs, so each line says which one the event is from. */
	bool has_log;
	/* The user has said what some of their hosts are called. */
	bool has_host;
	/* Text has the colours of a terminal. */
	bool is_coloured;
	/* Each line says where in the source the event was generated. */
	bool has_symbols;
	/* The fields of --fields, in this order, their names as the user writes them, and the widths
	 * that their columns have had so far. Without --fields there are none, and a line has the usual fields. */
	struct ptrc_field *fields;
	char **field_names;
	int *field_widths;
	size_t field_count;
	/* The widths that numbers have needed in text so far. */
	int pid_width;
	int tid_width;
	int address_width;
	int symbol_width;
	struct ptrc_time_format time;
	/* In place of the time, text has how long the event was after the begin of the trace, and
	 * after the last event that was put; the widths that these have needed so far. */
	bool is_relative;
	int64_t begin_ns;
	bool has_last;
	int64_t last_ns;
	int since_first_width;
	int since_before_width;
	/* The JSON members of the last event that mostly are those of the next one, too, and what
	 * they were made of. */
	struct ptrc_buffer origin;
	const void *origin_label;
	pid_t origin_pid;
	pid_t origin_tid;
	pthread_t origin_thread;
	void *origin_address;
	int origin_truncation;
};

/* Adds the fields of a comma-separated list. Returns false with the reason if a field does
 * not exist or is there twice. */
bool ptrc_event_fields(struct ptrc_event_format *, const char *list, const struct ptrc_layouts *,
		       struct ptrc_cli_reason *why);

/* Whether one of the fields tells of the source. */
bool ptrc_event_has_source_field(const struct ptrc_event_format *);

/* Appends the event that the reader of the view has read, or, with --fields, the pair that it ends, with a line feed. */
void ptrc_event_put(struct ptrc_buffer *, struct ptrc_event_format *, struct ptrc_view *);

/* Puts what the data is, and where in the source the event was generated, as the members of JSON that
 * such a line has for them. */
void ptrc_event_put_data_json(struct ptrc_json *, struct ptrc_view *);
void ptrc_event_put_symbol_json(struct ptrc_json *, struct ptrc_view *);

/* Puts parts of such a line of text: the time, or times, with a column's width; a name in the colour
 * of user events; what the data is; where in the source the event was generated; the name of the
 * column of times. */
void ptrc_event_put_time(struct ptrc_buffer *, struct ptrc_event_format *,
			 const struct ptrc_reader *);
void ptrc_event_put_name(struct ptrc_buffer *, const struct ptrc_event_format *,
			 const struct ptrc_buffer *name);
void ptrc_event_put_data(struct ptrc_buffer *, struct ptrc_view *);
void ptrc_event_put_source(struct ptrc_buffer *, struct ptrc_view *);
void ptrc_event_put_time_name(struct ptrc_buffer *, const struct ptrc_event_format *);

/* Makes the columns of text at least as wide as their names. Is called before the first event,
 * if there will be a header. */
void ptrc_event_widen(struct ptrc_event_format *);

/* Appends a line with the names of the columns, as wide as they are by now. */
void ptrc_event_put_header(struct ptrc_buffer *, const struct ptrc_event_format *);

/*
 * The columns of text get as wide as what was put into them. So how a line looks depends on the
 * lines before it, by so many numbers, which can be copied from one format to another.
 */
size_t ptrc_event_width_count(const struct ptrc_event_format *);
void ptrc_event_get_widths(const struct ptrc_event_format *, int *widths);
void ptrc_event_set_widths(struct ptrc_event_format *, const int *widths);

void ptrc_event_format_free(struct ptrc_event_format *);

#endif
