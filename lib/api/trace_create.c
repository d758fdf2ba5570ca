/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <posixtrace-control.h>
#include <trace.h>

#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/life/life.h"
#include "lib/stream/clock.h"

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
	PTRC_ENTER(c, id);

	if (!c || !c->has_log)
		return EINVAL;
	PTRC_LOCK(&c->keeper_lock);
	return c->is_closing ? EINVAL
			     : ptrc_controller_command(c, PTRC_KEEPER_FLUSH, &origin, addr);
}

PTRC_PUBLIC int posix_trace_shutdown(trace_id_t id)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_controller *c;
	int error;
	PTRC_NO_CANCEL();

	/* If two threads shut the stream down at the same time, only one of them gets the object;
	 * the other gets EINVAL. */
	c = ptrc_handle_take(id, PTRC_HANDLE_ACTIVE);
	error = c ? ptrc_controller_shutdown(c, id, addr, NULL) : EINVAL;
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
	PTRC_ENTER(c, id);

	if (!c || !c->has_log)
		return EINVAL;
	atomic_store(&c->stream.header->is_log_unsynced, !is_synced);
	return 0;
}

int ptrc_trace_set_ending(trace_id_t id, const struct ptrc_ending_facts *facts)
{
	struct ptrc_ending *ending;
	PTRC_ENTER(c, id);

	if (!c)
		return EINVAL;
	ending = &c->stream.header->ending;
	if (facts) {
		ending->has_status = facts->pe_has_ended != 0;
		ending->status = facts->pe_status;
		ending->signal = facts->pe_signal;
		ending->processes = facts->pe_processes;
		/* The facts may be given again when the stream has stopped, but nothing follows STOP. */
		if (!ending->stamp)
			ending->stamp = ptrc_stream_now(c->stream.header);
	}
	atomic_store(&ending->state, facts ? PTRC_ENDING_KNOWN : PTRC_ENDING_WATCHED);
	return 0;
}

int ptrc_trace_give_up_log(trace_id_t id)
{
	/* PTRC_HANDLE_TAKEN finds the stream even if another thread is shutting it down, and has
	 * made its identifier invalid. That thread may be waiting for the log that is to be given
	 * up. */
	PTRC_REF(ref, id, PTRC_HANDLE_ACTIVE | PTRC_HANDLE_TAKEN);
	struct ptrc_controller *c = ref.object;

	if (!c || !c->has_log)
		return EINVAL;
	atomic_store(&c->stream.header->is_log_given_up, 1);
	return 0;
}

int ptrc_trace_flush_error(trace_id_t id)
{
	PTRC_ENTER(c, id);

	return c ? (int)atomic_load(&c->stream.header->flush_error) : 0;
}

bool ptrc_trace_is_log_gone(trace_id_t id)
{
	PTRC_REF(ref, id, PTRC_HANDLE_ACTIVE);

	return ref.object && ptrc_controller_is_log_gone(ref.object);
}

int ptrc_trace_keeper(trace_id_t trid, pid_t *pid)
{
	PTRC_REF(ref, trid, PTRC_HANDLE_ACTIVE);

	return ref.object ? ptrc_controller_revive_keeper(ref.object, pid) : EINVAL;
}
