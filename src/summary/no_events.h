/* SPDX-License-Identifier: MIT */
/* The reason why a trace has no event that a program recorded, as ptrace-run and ptrace-doctor report it. */
#ifndef PTRC_SRC_SUMMARY_NO_EVENTS_H
#define PTRC_SRC_SUMMARY_NO_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <trace.h>

struct ptrc_no_events {
	/* The number of event types that programs have opened, and how many of these the filter leaves out. */
	size_t opened_types;
	size_t filtered_types;
	/* The filter is known. (A log does not say what the filter of its trace was in the end.) */
	bool is_filter_known;
	/* The trace was not inherited, so child processes were not traced. */
	bool is_closed_for_child;
};

/* Fills in the struct from a stream that this process controls, or from an open log. */
void ptrc_no_events_gather(struct ptrc_no_events *, trace_id_t);

/* Writes the reason into the buffer, and returns it. */
#define PTRC_NO_EVENTS_BYTES 300
const char *ptrc_no_events_reason(const struct ptrc_no_events *, char text[PTRC_NO_EVENTS_BYTES]);

#endif
