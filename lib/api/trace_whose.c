/* SPDX-License-Identifier: MIT */
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

/* Calls a function with the origin of the log (its machine, processes and clocks) as first
 * argument. The result is that of the function; EINVAL if no open log has the identifier. */
#define ON_ORIGIN(trid, function, ...)                                                            \
	({                                                                                        \
		PTRC_REF(log_, trid, PTRC_HANDLE_LOG);                                            \
		log_.object ? function(ptrc_log_stream_whose(log_.object), __VA_ARGS__) : EINVAL; \
	})

/* Returns `error` if it is not 0. Otherwise copies the structure `from`, which has `all` bytes, to
 * the caller's structure, which has `size` bytes: it is shorter if the caller was compiled with an
 * older header. The first member becomes the number of bytes copied. EINVAL: `to` is NULL, or has
 * no room for that member. */
static int give(int error, void *to, size_t size, void *from, size_t all)
{
	unsigned long given = size < all ? size : all;

	if (!to || size < sizeof(given))
		return EINVAL;
	if (error)
		return error;
	memcpy(from, &given, sizeof(given));
	memcpy(to, from, given);
	return 0;
}

PTRC_PUBLIC int posixtrace_log_get_host(trace_id_t trid, struct posixtrace_log_host *host,
					size_t size)
{
	struct posixtrace_log_host h;

	return give(ON_ORIGIN(trid, ptrc_log_whose_host, &h), host, size, &h, sizeof(h));
}

PTRC_PUBLIC int posixtrace_log_get_process(trace_id_t trid, unsigned long index,
					   struct posixtrace_log_process *process, size_t size)
{
	struct posixtrace_log_process p;

	return give(ON_ORIGIN(trid, ptrc_log_whose_process, index, &p), process, size, &p,
		    sizeof(p));
}

PTRC_PUBLIC int posixtrace_log_get_thread(trace_id_t trid, unsigned long index,
					  struct posixtrace_log_thread *thread, size_t size)
{
	struct posixtrace_log_thread t;

	return give(ON_ORIGIN(trid, ptrc_log_whose_thread, index, &t), thread, size, &t, sizeof(t));
}

PTRC_PUBLIC int posixtrace_log_get_mapping(trace_id_t trid, unsigned long process,
					   unsigned long index,
					   struct posixtrace_log_mapping *mapping, size_t size)
{
	struct posixtrace_log_mapping m;

	return give(ON_ORIGIN(trid, ptrc_log_whose_mapping, process, index, &m), mapping, size, &m,
		    sizeof(m));
}

PTRC_PUBLIC int posixtrace_log_get_clock(trace_id_t trid, unsigned long index,
					 struct posixtrace_log_clock *clock, size_t size)
{
	struct posixtrace_log_clock c;

	return give(ON_ORIGIN(trid, ptrc_log_whose_clock, index, &c), clock, size, &c, sizeof(c));
}

PTRC_PUBLIC int posixtrace_log_find_process(trace_id_t trid, pid_t pid, const struct timespec *time,
					    unsigned long *index)
{
	return time && index
		       ? ON_ORIGIN(trid, ptrc_log_whose_find, pid, ptrc_timespec_ns(time), index)
		       : EINVAL;
}

PTRC_PUBLIC int posixtrace_log_find_thread(trace_id_t trid, pid_t pid, pid_t tid,
					   const struct timespec *time, unsigned long *index)
{
	return time && index ? ON_ORIGIN(trid, ptrc_log_whose_find_thread, pid, tid,
					 ptrc_timespec_ns(time), index)
			     : EINVAL;
}

PTRC_PUBLIC int posixtrace_set_command_line(trace_id_t id, int is_wanted)
{
	PTRC_ENTER(c, id);

	if (!c)
		return EINVAL;
	atomic_store(&c->stream.header->hides_command_lines, !is_wanted);
	return 0;
}
