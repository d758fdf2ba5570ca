/* SPDX-License-Identifier: MIT */
/* posix_trace_eventid_open and posix_trace_eventid_equal. */
#include "config.h"

#include <errno.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/process/process_names.h"
#include "lib/life/life.h"

PTRC_PUBLIC int posix_trace_eventid_open(const char *restrict event_name,
					 trace_event_id_t *restrict event_id)
{
	uint32_t id;
	int error;

	if (!event_name || !event_id)
		return EINVAL;
	error = ptrc_process_open_name(event_name, &id);
	if (error == ENAMETOOLONG)
		return error;
	/* The page knows no error for want of memory (ERRORS-11): like a name beyond the
	 * limit, this one has no type of its own then. */
	*event_id = error ? POSIX_TRACE_UNNAMED_USEREVENT : id;
	return 0;
}

PTRC_PUBLIC int posix_trace_eventid_equal(trace_id_t trid, trace_event_id_t event1,
					  trace_event_id_t event2)
{
	/* Ids are unique over all that can be compared; the page leaves anything else open. */
	(void)trid;
	return event1 == event2;
}
