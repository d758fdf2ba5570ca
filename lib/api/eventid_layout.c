/* SPDX-License-Identifier: MIT */
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
	int error = name && layout && event ? ptrc_layout_check(layout) : EINVAL;

	return error ?: ptrc_process_open_type(name, layout, event);
}

PTRC_PUBLIC int posixtrace_eventid_get_layout(trace_id_t trid, trace_event_id_t event, char *layout,
					      size_t size)
{
	char text[PTRC_NAMES_LAYOUT_BYTES];
	int error;
	PTRC_REF(ref, trid, PTRC_HANDLE_ANY);

	if (!ref.object || (!layout && size))
		return EINVAL;
	if (ref.kind == PTRC_HANDLE_LOG)
		error = ptrc_log_stream_layout(ref.object, event, text);
	else
		error = ptrc_names_get_layout(((struct ptrc_controller *)ref.object)->names, event,
					      text);
	if (error)
		return error;
	if (strlen(text) >= size)
		return ERANGE;
	strcpy(layout, text);
	return 0;
}
