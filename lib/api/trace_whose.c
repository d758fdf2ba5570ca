/* SPDX-License-Identifier: MIT */
/* posixtrace_log_get_host, _get_process, _find_process, _get_mapping, _get_thread, _find_thread, _get_clock;
 * posixtrace_set_command_line. */
#include "config.h"

#include <errno.h>
#include <posixtrace-control.h>
#include <string.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/base/timespec.h"
#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/life/life.h"
#include "lib/log/log_stream.h"
#include "lib/log/log_whose.h"

/* Finds what the log says of its origin, which is valid until leave() is called; null: EINVAL. */
static const struct ptrc_log_whose *enter(trace_id_t trid, const void *to, size_t size)
{
	struct ptrc_log_stream *log = to && size >= sizeof(unsigned long)
					      ? ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL)
					      : NULL;

	return log ? ptrc_log_stream_whose(log) : NULL;
}

/* Gives the caller as much of a structure as it knows; the first member says how much that is. */
static int leave(trace_id_t trid, int error, void *to, size_t size, void *from, size_t all)
{
	unsigned long given = size < all ? size : all;

	ptrc_handle_put(trid);
	if (error)
		return error;
	memcpy(from, &given, sizeof(given));
	memcpy(to, from, given);
	return 0;
}

PTRC_PUBLIC int posixtrace_log_get_host(trace_id_t trid, struct posixtrace_log_host *host,
					size_t size)
{
	const struct ptrc_log_whose *whose = enter(trid, host, size);
	struct posixtrace_log_host h;

	return whose ? leave(trid, ptrc_log_whose_host(whose, &h), host, size, &h, sizeof(h))
		     : EINVAL;
}

PTRC_PUBLIC int posixtrace_log_get_process(trace_id_t trid, unsigned long index,
					   struct posixtrace_log_process *process, size_t size)
{
	const struct ptrc_log_whose *whose = enter(trid, process, size);
	struct posixtrace_log_process p;

	return whose ? leave(trid, ptrc_log_whose_process(whose, index, &p), process, size, &p,
			     sizeof(p))
		     : EINVAL;
}

PTRC_PUBLIC int posixtrace_log_get_thread(trace_id_t trid, unsigned long index,
					  struct posixtrace_log_thread *thread, size_t size)
{
	const struct ptrc_log_whose *whose = enter(trid, thread, size);
	struct posixtrace_log_thread t;

	return whose ? leave(trid, ptrc_log_whose_thread(whose, index, &t), thread, size, &t,
			     sizeof(t))
		     : EINVAL;
}

PTRC_PUBLIC int posixtrace_log_get_mapping(trace_id_t trid, unsigned long process,
					   unsigned long index,
					   struct posixtrace_log_mapping *mapping, size_t size)
{
	const struct ptrc_log_whose *whose = enter(trid, mapping, size);
	struct posixtrace_log_mapping m;

	return whose ? leave(trid, ptrc_log_whose_mapping(whose, process, index, &m), mapping, size,
			     &m, sizeof(m))
		     : EINVAL;
}

PTRC_PUBLIC int posixtrace_log_get_clock(trace_id_t trid, unsigned long index,
					 struct posixtrace_log_clock *clock, size_t size)
{
	const struct ptrc_log_whose *whose = enter(trid, clock, size);
	struct posixtrace_log_clock c;

	return whose ? leave(trid, ptrc_log_whose_clock(whose, index, &c), clock, size, &c,
			     sizeof(c))
		     : EINVAL;
}

PTRC_PUBLIC int posixtrace_log_find_process(trace_id_t trid, pid_t pid, const struct timespec *time,
					    unsigned long *index)
{
	const struct ptrc_log_whose *whose = time ? enter(trid, index, sizeof(*index)) : NULL;
	int error;

	if (!whose)
		return EINVAL;
	error = ptrc_log_whose_find(whose, pid, ptrc_timespec_ns(time), index);
	ptrc_handle_put(trid);
	return error;
}

PTRC_PUBLIC int posixtrace_log_find_thread(trace_id_t trid, pid_t pid, pid_t tid,
					   const struct timespec *time, unsigned long *index)
{
	const struct ptrc_log_whose *whose = time ? enter(trid, index, sizeof(*index)) : NULL;
	int error;

	if (!whose)
		return EINVAL;
	error = ptrc_log_whose_find_thread(whose, pid, tid, ptrc_timespec_ns(time), index);
	ptrc_handle_put(trid);
	return error;
}

PTRC_PUBLIC int posixtrace_set_command_line(trace_id_t id, int is_wanted)
{
	struct ptrc_controller *c;
	int cancel;

	c = ptrc_controller_enter(id, &cancel);
	if (!c)
		return EINVAL;
	atomic_store(&c->stream.header->hides_command_lines, !is_wanted);
	ptrc_controller_leave(id, cancel);
	return 0;
}
