/* SPDX-License-Identifier: MIT */
/* posixtrace_eventid_open_layout and posixtrace_eventid_get_layout. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <string.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/life/life.h"
#include "lib/log/log_stream.h"
#include "lib/model/layout_text.h"
#include "lib/model/names.h"
#include "lib/process/process_names.h"

PTRC_PUBLIC int posixtrace_eventid_open_layout(const char *name, const char *layout,
					       trace_event_id_t *event)
{
	uint32_t id;
	int error = name && layout && event ? ptrc_layout_check(layout) : EINVAL;

	if (!error)
		error = ptrc_process_open_type(name, layout, &id);
	if (!error)
		*event = id;
	return error;
}

PTRC_PUBLIC int posixtrace_eventid_get_layout(trace_id_t trid, trace_event_id_t event, char *layout,
					      size_t size)
{
	enum ptrc_handle_kind kind;
	void *object = ptrc_handle_get(trid, PTRC_HANDLE_ANY, &kind);
	char text[PTRC_NAMES_LAYOUT_BYTES];
	int error;

	if (!object)
		return EINVAL;
	if (!layout && size)
		error = EINVAL;
	else if (kind == PTRC_HANDLE_LOG)
		error = ptrc_log_stream_layout(object, event, text);
	else
		error = ptrc_names_get_layout(((struct ptrc_controller *)object)->names, event,
					      text);
	if (!error && strlen(text) >= size)
		error = ERANGE;
	if (!error)
		strcpy(layout, text);
	ptrc_handle_put(trid);
	return error;
}
