/* SPDX-License-Identifier: MIT */
/*
 * An event as a line: of aligned text, or of JSON. This is where millions of events per
 * second go through.
 */
#ifndef PTRC_SRC_EVENT_FORMAT_H
#define PTRC_SRC_EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "src/cli.h"
#include "src/output.h"
#include "src/reader.h"

/* Starts zeroed but for format, name_width and has_log. */
struct ptrc_event_format {
	enum ptrc_format format;
	/* Text: columns for the event name and, if there are several logs, the log. */
	int name_width;
	int log_width;
	/* Say which log the event is from. */
	bool has_log;
	/* Text: columns that the identifiers have needed so far. */
	int pid_width;
	int thread_width;
	int address_width;
	struct ptrc_time_format time;
};

/* What the names of one log look like in the output; starts zeroed. */
struct ptrc_event_labels {
	struct ptrc_buffer name[PTRC_READER_IDS];
	struct ptrc_buffer log;
};

/* Appends the reader's event, with its line feed. */
void ptrc_event_put(struct ptrc_buffer *, struct ptrc_event_format *,
		    struct ptrc_event_labels *, struct ptrc_reader *);

void ptrc_event_labels_free(struct ptrc_event_labels *);

#endif
