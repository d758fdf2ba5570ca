/* SPDX-License-Identifier: MIT */
/*
 * An event as a line: of aligned text, or of JSON. This is where millions of events per
 * second go through.
 */
#ifndef PTRC_SRC_VIEW_EVENT_FORMAT_H
#define PTRC_SRC_VIEW_EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/cli/cli.h"
#include "src/cli/output.h"
#include "src/view/reader.h"
#include "src/view/view.h"

/* Starts zeroed but for format, name_width and has_log. */
struct ptrc_event_format {
	enum ptrc_format format;
	/* Text: columns for the event name and, if there are several logs, the log. */
	int name_width;
	int log_width;
	/* Say which log the event is from. */
	bool has_log;
	/* Text: with the colours of a terminal. */
	bool is_coloured;
	/* What is shown, in this order, if not all; and how wide the columns are. */
	struct ptrc_field *fields;
	int *field_widths;
	size_t field_count;
	/* Text: columns that the identifiers have needed so far. */
	int pid_width;
	int tid_width;
	int address_width;
	struct ptrc_time_format time;
	/* JSON: from where the event before came. */
	struct ptrc_buffer origin;
	pid_t origin_pid;
	pid_t origin_tid;
	pthread_t origin_thread;
};

/* What the names of one log look like in the output; starts zeroed. */
struct ptrc_event_labels {
	struct ptrc_buffer name[PTRC_READER_IDS];
	/* Columns of text that they take. */
	int name_width[PTRC_READER_IDS];
	struct ptrc_buffer log;
	int log_width;
};

/*
 * Adds the fields in a list with commas; see view.h. False with the reason if one does
 * not exist or is there twice.
 */
bool ptrc_event_fields(struct ptrc_event_format *, const char *list,
		       const struct ptrc_layouts *, struct ptrc_cli_reason *why);

/* Appends the event, with its line feed. */
void ptrc_event_put(struct ptrc_buffer *, struct ptrc_event_format *,
		    struct ptrc_event_labels *, struct ptrc_view *);

void ptrc_event_format_free(struct ptrc_event_format *);
void ptrc_event_labels_free(struct ptrc_event_labels *);

#endif
