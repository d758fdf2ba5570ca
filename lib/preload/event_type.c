/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "lib/preload/event_type.h"

#include <errno.h>
#include <trace.h>

#include "lib/process/process_names.h"

uint32_t ptrc_event_type_open(struct ptrc_event_type *t)
{
	uint32_t id = POSIX_TRACE_UNNAMED_USEREVENT;
	int error = ptrc_process_open_type(t->name, t->layout, &id);

	if (error && error != ENOMEM)
		ptrc_process_refuse_name(t->name);
	if (error != ENOMEM)
		ptrc_store_relaxed(&t->id, id);
	return id;
}
