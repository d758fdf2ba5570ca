/* SPDX-License-Identifier: MIT */
/* posix_trace_create, _create_withlog, _flush, _shutdown; posixtrace_shutdown, _give_up_log. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <string.h>
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

PTRC_PUBLIC int posixtrace_shutdown(trace_id_t id, struct posixtrace_counts *counts, size_t size)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct posixtrace_counts full = {0};
	struct ptrc_controller *c;
	int cancel, error;

	if (!counts || size < sizeof(full.pt_size))
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	c = ptrc_handle_take(id, PTRC_HANDLE_ACTIVE);
	error = c ? ptrc_controller_shutdown(c, id, addr, &full) : EINVAL;
	pthread_setcancelstate(cancel, NULL);
	if (c) {
		full.pt_size = size < sizeof(full) ? size : sizeof(full);
		memcpy(counts, &full, full.pt_size);
	}
	return error;
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

PTRC_PUBLIC int posixtrace_give_up_log(trace_id_t id)
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
