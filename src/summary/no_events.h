/* SPDX-License-Identifier: MIT */
/* Why a trace has no event of a program, as ptrace-run and ptrace-doctor say it. */
#ifndef PTRC_SRC_SUMMARY_NO_EVENTS_H
#define PTRC_SRC_SUMMARY_NO_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <trace.h>

struct ptrc_no_events {
	/* Event types that programs have opened, and how many of them the filter holds. */
	size_t opened_types;
	size_t filtered_types;
	/* A log does not say what its trace's filter was in the end. */
	bool is_filter_known;
	/* Child processes were not traced. */
	bool is_closed_for_child;
};

/* Looks at a stream that this process controls, or at an open log. */
void ptrc_no_events_gather(struct ptrc_no_events *, trace_id_t);

/* Writes the reason into the buffer, and returns it. */
#define PTRC_NO_EVENTS_BYTES 300
const char *ptrc_no_events_reason(const struct ptrc_no_events *, char text[PTRC_NO_EVENTS_BYTES]);

#endif
