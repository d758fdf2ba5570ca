/* SPDX-License-Identifier: MIT */
/* posix_trace_create, _create_withlog, _flush, _shutdown; posixtrace_set_log_sync; ptrc_trace_shutdown,
 * _give_up_log, _keeper. */
#include "config.h"

#include <errno.h>
#include <posixtrace-control.h>
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
		pthread_mutex_lock(&c->keeper_lock);
		error = c->is_closing
				? EINVAL
				: ptrc_controller_command(c, PTRC_KEEPER_FLUSH, &origin, addr);
		pthread_mutex_unlock(&c->keeper_lock);
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
	error = c ? ptrc_controller_shutdown(c, id, addr, NULL) : EINVAL;
	pthread_setcancelstate(cancel, NULL);
	return error == ECHILD ? ENOMEM : error;
}

int ptrc_trace_shutdown(trace_id_t id, struct ptrc_counts *counts)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_controller *c = ptrc_handle_take(id, PTRC_HANDLE_ACTIVE);

	if (!c)
		return EINVAL;
	*counts = (struct ptrc_counts){0};
	return ptrc_controller_shutdown(c, id, addr, counts);
}

PTRC_PUBLIC int posixtrace_set_log_sync(trace_id_t id, int is_synced)
{
	int cancel, error = EINVAL;
	struct ptrc_controller *c = ptrc_controller_enter(id, &cancel);

	if (!c)
		return EINVAL;
	if (c->has_log) {
		atomic_store(&c->stream.header->is_log_unsynced, !is_synced);
		error = 0;
	}
	ptrc_controller_leave(id, cancel);
	return error;
}

int ptrc_trace_give_up_log(trace_id_t id)
{
	/* Also while another thread shuts the stream down. */
	struct ptrc_controller *c = ptrc_handle_get_taken(id, PTRC_HANDLE_ACTIVE);
	int error = EINVAL;

	if (!c)
		return EINVAL;
	if (c->has_log) {
		atomic_store(&c->stream.header->is_log_given_up, 1);
		error = 0;
	}
	ptrc_handle_put(id);
	return error;
}

int ptrc_trace_keeper(trace_id_t trid, pid_t *pid)
{
	struct ptrc_controller *c = ptrc_handle_get(trid, PTRC_HANDLE_ACTIVE, NULL);
	int error;

	if (!c)
		return EINVAL;
	error = ptrc_controller_revive_keeper(c, pid);
	ptrc_handle_put(trid);
	return error;
}
