/* SPDX-License-Identifier: MIT */
/* posix_trace_create, _create_withlog, _flush, _shutdown. */
#include "config.h"

#include <errno.h>
#include <trace.h>

#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/life/life.h"

PTRC_PUBLIC int posix_trace_create(pid_t pid, const trace_attr_t *restrict attr,
				   trace_id_t *restrict id)
{
	return ptrc_controller_create(pid, attr, false, -1, id);
}

PTRC_PUBLIC int posix_trace_create_withlog(pid_t pid, const trace_attr_t *restrict attr,
					   int file_desc, trace_id_t *restrict id)
{
	return ptrc_controller_create(pid, attr, true, file_desc, id);
}

PTRC_PUBLIC int posix_trace_flush(trace_id_t id)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_context origin = ptrc_controller_origin();
	int cancel, error = EINVAL;
	struct ptrc_controller *c = ptrc_controller_enter(id, &cancel);

	if (!c)
		return EINVAL;
	if (c->has_log) {
		pthread_mutex_lock(&c->lock);
		error = c->is_closing
				? EINVAL
				: ptrc_controller_command(c, PTRC_KEEPER_FLUSH, &origin, addr);
		pthread_mutex_unlock(&c->lock);
	}
	ptrc_controller_leave(id, cancel);
	return error;
}

PTRC_PUBLIC int posix_trace_shutdown(trace_id_t id)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_controller *c;
	int cancel, error;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/* If two threads shut the stream down at once, only one of them gets it. */
	c = ptrc_handle_take(id, PTRC_HANDLE_ACTIVE);
	error = c ? ptrc_controller_shutdown(c, id, addr) : EINVAL;
	pthread_setcancelstate(cancel, NULL);
	return error;
}
