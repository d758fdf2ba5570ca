/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "src/summary/no_events.h"

#include <posixtrace-control.h>
#include <stdio.h>

#include "src/query/losses.h"
#include "src/query/reader.h"

void ptrc_no_events_gather(struct ptrc_no_events *n, trace_id_t trace)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_set_t filter;
	trace_attr_t attr;
	trace_event_id_t id;
	int inheritance = POSIX_TRACE_INHERITED;

	*n = (struct ptrc_no_events){.is_filter_known = !posix_trace_get_filter(trace, &filter)};
	if (!posix_trace_get_attr(trace, &attr)) {
		posix_trace_attr_getinherited(&attr, &inheritance);
		posix_trace_attr_destroy(&attr);
	}
	n->is_closed_for_child = inheritance == POSIX_TRACE_CLOSE_FOR_CHILD;
	posix_trace_eventtypelist_rewind(trace);
	while (ptrc_next_type(trace, &id)) {
		/* Programs do not open the event types of the operating system (ptrace-run --os), so these are not
		 * counted. */
		if (id <= POSIX_TRACE_UNNAMED_USEREVENT ||
		    posix_trace_eventid_get_name(trace, id, name) || ptrc_is_os_name(name))
			continue;
		n->opened_types++;
		n->filtered_types += n->is_filter_known && ptrc_is_in_set(&filter, id);
	}
}

const char *ptrc_no_events_reason(const struct ptrc_no_events *n, char text[PTRC_NO_EVENTS_BYTES])
{
	const char *in_children = n->is_closed_for_child
					  ? ", or only in child processes, which "
					    "--inheritance=close-for-child leaves out"
					  : "";

	if (!n->opened_types)
		snprintf(text, PTRC_NO_EVENTS_BYTES,
			 "no program with the library, of this user and namespace, with /proc and "
			 "this /dev/shm, opened an event type%s",
			 in_children);
	else if (n->filtered_types == n->opened_types)
		snprintf(text, PTRC_NO_EVENTS_BYTES,
			 "the patterns (--only, --exclude, ptrace-filter) leave out every event "
			 "type of the programs");
	else
		snprintf(text, PTRC_NO_EVENTS_BYTES,
			 "programs opened %zu event type%s, and no event of %s happened while the "
			 "trace ran%s%s",
			 n->opened_types, n->opened_types == 1 ? "" : "s",
			 n->opened_types == 1 ? "it" : "them", in_children,
			 n->is_filter_known && !n->filtered_types
				 ? ""
				 : ", or the trace left them out (--only, --exclude)");
	return text;
}
