/* SPDX-License-Identifier: MIT */
/*
 * An observer: a writer of the controller for events that it has learned of a moment later, of
 * whatever threads, and that bear the time at which they were. Its chunks are in order as those of any
 * writer, but later than those of others, so a flush may write events that are older than what the
 * flush before has written: who reads the log merges its packets by time.
 */
#ifndef PTRC_LIB_CONTROL_OBSERVER_H
#define PTRC_LIB_CONTROL_OBSERVER_H

#include <posixtrace.h>
#include <stddef.h>

/* EINVAL: no active stream has this identifier. ENOMEM. */
int ptrc_observer_open(trace_id_t stream, struct posixtrace_observer **observer);
/* Those of ptrc_names_register() and ptrc_names_set_layout(). The layout may be null. EINVAL. */
int ptrc_observer_type(struct posixtrace_observer *o, const char *name, const char *layout,
		       trace_event_id_t *event);
/* EINVAL: the stream was shut down. */
int ptrc_observer_add(struct posixtrace_observer *o, const struct posixtrace_observed *events,
		      size_t count, unsigned long lost);
int ptrc_observer_add_process(struct posixtrace_observer *o,
			      const struct posixtrace_log_process *process,
			      const struct posixtrace_log_mapping *mappings);
void ptrc_observer_close(struct posixtrace_observer *o);

#endif
