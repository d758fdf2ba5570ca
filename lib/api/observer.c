/* SPDX-License-Identifier: MIT */
/* posixtrace_observer_open, _type, _add, _add_process, _close. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <string.h>

#include "lib/base/common.h"
#include "lib/control/observer.h"
#include "lib/model/layout_text.h"
#include "lib/model/names.h"

PTRC_PUBLIC int posixtrace_observer_open(trace_id_t stream, struct posixtrace_observer **observer)
{
	return observer ? ptrc_observer_open(stream, observer) : EINVAL;
}

PTRC_PUBLIC int posixtrace_observer_type(struct posixtrace_observer *observer, const char *name,
					 const char *layout, trace_event_id_t *event)
{
	uint32_t known;
	int error;

	if (!observer || !name || !event)
		return EINVAL;
	if (strnlen(name, PTRC_NAME_BYTES) == PTRC_NAME_BYTES)
		return ENAMETOOLONG;
	/* Only the trace system itself records system events. */
	known = ptrc_names_find(NULL, 0, name);
	if (known)
		return EINVAL;
	error = layout ? ptrc_layout_check(layout) : 0;
	return error ? error : ptrc_observer_type(observer, name, layout, event);
}

PTRC_PUBLIC int posixtrace_observer_add(struct posixtrace_observer *observer,
					const struct posixtrace_observed *events, size_t count,
					unsigned long lost)
{
	if (!observer || (!events && count))
		return EINVAL;
	for (size_t i = 0; i < count; i++)
		if (events[i].po_event < PTRC_ID_UNNAMED || !ptrc_set_is_id(events[i].po_event) ||
		    (!events[i].po_data && events[i].po_size))
			return EINVAL;
	return ptrc_observer_add(observer, events, count, lost);
}

PTRC_PUBLIC int posixtrace_observer_add_process(struct posixtrace_observer *observer,
						const struct posixtrace_log_process *process,
						const struct posixtrace_log_mapping *mappings)
{
	if (!observer || !process || process->pp_pid <= 0 ||
	    (process->pp_mapping_count && !mappings))
		return EINVAL;
	return ptrc_observer_add_process(observer, process, mappings);
}

PTRC_PUBLIC void posixtrace_observer_close(struct posixtrace_observer *observer)
{
	ptrc_observer_close(observer);
}
