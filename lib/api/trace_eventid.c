/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <trace.h>

#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/life/life.h"
#include "lib/log/log_stream.h"
#include "lib/model/names.h"

PTRC_PUBLIC int posix_trace_trid_eventid_open(trace_id_t id, const char *restrict name,
					      trace_event_id_t *restrict event)
{
	PTRC_ENTER(c, id);

	return c && name && event ? ptrc_names_register(c->names, name, event) : EINVAL;
}

PTRC_PUBLIC int posix_trace_eventid_get_name(trace_id_t id, trace_event_id_t event,
					     char *event_name)
{
	char name[PTRC_NAME_BYTES];
	int error;
	PTRC_REF(ref, id, PTRC_HANDLE_ANY);

	if (!ref.object || !event_name)
		return EINVAL;
	error = ref.kind == PTRC_HANDLE_LOG
			? ptrc_log_stream_name(ref.object, event, name)
			: ptrc_names_get(((struct ptrc_controller *)ref.object)->names, event,
					 name);
	if (!error)
		strcpy(event_name, name);
	return error;
}

/* Stores the next event type of the list. Predefined types have the ids 1 to 9, and registered
 * names get the following ids in the order of registration. So the id that was returned last is
 * also the position in the list. An id has no name, and is skipped, if a thread was stopped or
 * killed while it registered the name. */
static void next_id(struct ptrc_controller *c, trace_event_id_t *event, int *unavailable)
{
	unsigned seen = atomic_load(&c->list_next), next;

	do {
		next = seen;
		do
			*unavailable = next >= PTRC_ID_UNNAMED + ptrc_names_count(c->names);
		while (!*unavailable && ++next >= PTRC_ID_FIRST &&
		       !ptrc_names_object_has(c->names->object, next - PTRC_ID_FIRST));
	} while (!atomic_compare_exchange_strong(&c->list_next, &seen, next));
	if (!*unavailable)
		*event = next;
}

PTRC_PUBLIC int posix_trace_eventtypelist_getnext_id(trace_id_t id,
						     trace_event_id_t *restrict event,
						     int *restrict unavailable)
{
	PTRC_REF(ref, id, PTRC_HANDLE_ANY);

	if (!ref.object || !event || !unavailable)
		return EINVAL;
	if (ref.kind == PTRC_HANDLE_LOG)
		return ptrc_log_stream_next_id(ref.object, event, unavailable);
	next_id(ref.object, event, unavailable);
	return 0;
}

PTRC_PUBLIC int posix_trace_eventtypelist_rewind(trace_id_t id)
{
	PTRC_REF(ref, id, PTRC_HANDLE_ANY);

	if (!ref.object)
		return EINVAL;
	if (ref.kind == PTRC_HANDLE_LOG)
		ptrc_log_stream_rewind_ids(ref.object);
	else
		atomic_store(&((struct ptrc_controller *)ref.object)->list_next, 0);
	return 0;
}
