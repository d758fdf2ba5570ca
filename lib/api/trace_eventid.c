/* SPDX-License-Identifier: MIT */
/* posix_trace_trid_eventid_open, _eventid_get_name, and the event type list. */
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
	int cancel, error = EINVAL;
	uint32_t result;
	struct ptrc_controller *c = ptrc_controller_enter(id, &cancel);

	if (!c)
		return EINVAL;
	if (name && event) {
		error = ptrc_names_register(c->names, name, &result);
		if (!error)
			*event = result;
	}
	ptrc_controller_leave(id, cancel);
	return error;
}

PTRC_PUBLIC int posix_trace_eventid_get_name(trace_id_t id, trace_event_id_t event,
					     char *event_name)
{
	enum ptrc_handle_kind kind;
	void *object = ptrc_handle_get(id, PTRC_HANDLE_ANY, &kind);
	char name[PTRC_NAME_BYTES];
	int error = EINVAL;

	if (!object)
		return EINVAL;
	if (event_name) {
		error = kind == PTRC_HANDLE_LOG
				? ptrc_log_stream_name(object, event, name)
				: ptrc_names_get(((struct ptrc_controller *)object)->names, event,
						 name);
		if (!error)
			strcpy(event_name, name);
	}
	ptrc_handle_put(id);
	return error;
}

/* Predefined types have the ids 1 to 9, and names get the next ones in the order in which they are
 * registered. So the id that the list gave last is the position in it. An id has no name if the
 * thread that was to make it was stopped or killed. */
static void next_id(struct ptrc_controller *c, trace_event_id_t *event, int *unavailable)
{
	pthread_mutex_lock(&c->list_lock);
	do
		*unavailable = c->list_next >= PTRC_ID_UNNAMED + ptrc_names_count(c->names);
	while (!*unavailable && ++c->list_next >= PTRC_ID_FIRST &&
	       !ptrc_names_object_has(c->names->object, c->list_next - PTRC_ID_FIRST));
	if (!*unavailable)
		*event = c->list_next;
	pthread_mutex_unlock(&c->list_lock);
}

PTRC_PUBLIC int posix_trace_eventtypelist_getnext_id(trace_id_t id,
						     trace_event_id_t *restrict event,
						     int *restrict unavailable)
{
	enum ptrc_handle_kind kind;
	void *object = ptrc_handle_get(id, PTRC_HANDLE_ANY, &kind);
	int error = 0;

	if (!object)
		return EINVAL;
	if (!event || !unavailable)
		error = EINVAL;
	else if (kind == PTRC_HANDLE_LOG)
		error = ptrc_log_stream_next_id(object, event, unavailable);
	else
		next_id(object, event, unavailable);
	ptrc_handle_put(id);
	return error;
}

PTRC_PUBLIC int posix_trace_eventtypelist_rewind(trace_id_t id)
{
	enum ptrc_handle_kind kind;
	void *object = ptrc_handle_get(id, PTRC_HANDLE_ANY, &kind);

	if (!object)
		return EINVAL;
	if (kind == PTRC_HANDLE_LOG) {
		ptrc_log_stream_rewind_ids(object);
	} else {
		struct ptrc_controller *c = object;

		pthread_mutex_lock(&c->list_lock);
		c->list_next = 0;
		pthread_mutex_unlock(&c->list_lock);
	}
	ptrc_handle_put(id);
	return 0;
}
