/* SPDX-License-Identifier: MIT */
/* posixtrace_get_log_host, _get_log_process, _find_log_process, _get_log_mapping, _get_log_thread,
 * posixtrace_find_log_thread, _get_log_clock,
 * posixtrace_set_command_line. */
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
#include "lib/log/log_whose.h"

/* Gives the caller as much of a structure as it knows; the first member says how much that is. */
static void give(void *to, size_t size, void *from, size_t all)
{
	unsigned long given = size < all ? size : all;

	memcpy(from, &given, sizeof(given));
	memcpy(to, from, given);
}

PTRC_PUBLIC int posixtrace_get_log_host(trace_id_t trid, struct posixtrace_log_host *host,
					size_t size)
{
	struct posixtrace_log_host h;
	struct ptrc_log_stream *log;
	int error;

	if (!host || size < sizeof(h.ph_size))
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	error = ptrc_log_whose_host(ptrc_log_stream_whose(log), &h);
	ptrc_handle_put(trid);
	if (!error)
		give(host, size, &h, sizeof(h));
	return error;
}

PTRC_PUBLIC int posixtrace_get_log_process(trace_id_t trid, unsigned long index,
					   struct posixtrace_log_process *process, size_t size)
{
	struct posixtrace_log_process p;
	struct ptrc_log_stream *log;
	int error;

	if (!process || size < sizeof(p.pp_size))
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	error = ptrc_log_whose_process(ptrc_log_stream_whose(log), index, &p);
	ptrc_handle_put(trid);
	if (!error)
		give(process, size, &p, sizeof(p));
	return error;
}

/* A time that is too far away becomes the farthest there is. */
static int64_t ns_of(const struct timespec *time)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)time->tv_sec, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(ns, (int64_t)time->tv_nsec, &ns))
		return time->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

PTRC_PUBLIC int posixtrace_find_log_process(trace_id_t trid, pid_t pid, const struct timespec *time,
					    unsigned long *index)
{
	struct ptrc_log_stream *log;
	int error;

	if (!time || !index)
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	error = ptrc_log_whose_find(ptrc_log_stream_whose(log), pid, ns_of(time), index);
	ptrc_handle_put(trid);
	return error;
}

PTRC_PUBLIC int posixtrace_get_log_thread(trace_id_t trid, unsigned long index,
					  struct posixtrace_log_thread *thread, size_t size)
{
	struct posixtrace_log_thread t;
	struct ptrc_log_stream *log;
	int error;

	if (!thread || size < sizeof(t.pt_size))
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	error = ptrc_log_whose_thread(ptrc_log_stream_whose(log), index, &t);
	ptrc_handle_put(trid);
	if (!error)
		give(thread, size, &t, sizeof(t));
	return error;
}

PTRC_PUBLIC int posixtrace_find_log_thread(trace_id_t trid, pid_t pid, pid_t tid,
					   const struct timespec *time, unsigned long *index)
{
	struct ptrc_log_stream *log;
	int error;

	if (!time || !index)
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	error = ptrc_log_whose_find_thread(ptrc_log_stream_whose(log), pid, tid, ns_of(time),
					   index);
	ptrc_handle_put(trid);
	return error;
}

PTRC_PUBLIC int posixtrace_get_log_mapping(trace_id_t trid, unsigned long process,
					   unsigned long index,
					   struct posixtrace_log_mapping *mapping, size_t size)
{
	struct posixtrace_log_mapping m;
	struct ptrc_log_stream *log;
	int error;

	if (!mapping || size < sizeof(m.pm_size))
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	error = ptrc_log_whose_mapping(ptrc_log_stream_whose(log), process, index, &m);
	ptrc_handle_put(trid);
	if (!error)
		give(mapping, size, &m, sizeof(m));
	return error;
}

PTRC_PUBLIC int posixtrace_get_log_clock(trace_id_t trid, unsigned long index,
					 struct posixtrace_log_clock *clock, size_t size)
{
	struct posixtrace_log_clock c;
	struct ptrc_log_stream *log;
	int error;

	if (!clock || size < sizeof(c.pk_size))
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	error = ptrc_log_whose_clock(ptrc_log_stream_whose(log), index, &c);
	ptrc_handle_put(trid);
	if (!error)
		give(clock, size, &c, sizeof(c));
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
