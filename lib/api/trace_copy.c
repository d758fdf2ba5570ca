/* SPDX-License-Identifier: MIT */
/* posixtrace_log_create, _type, _add and _close. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <pthread.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/control/handle.h"
#include "lib/log/log_copy.h"
#include "lib/model/layout_text.h"
#include "lib/log/log_stream.h"

PTRC_PUBLIC int posixtrace_log_create(int fd, const trace_attr_t *attr,
				      const struct timespec *created, struct posixtrace_log **log)
{
	trace_attr_t defaults;
	int cancel, error;

	if (!log || (created && (created->tv_nsec < 0 || created->tv_nsec >= 1000000000)))
		return EINVAL;
	if (!attr) {
		error = posix_trace_attr_init(&defaults);
		if (error)
			return error;
		attr = &defaults;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = ptrc_log_copy_create(fd, attr, created, log);
	pthread_setcancelstate(cancel, NULL);
	return error;
}

PTRC_PUBLIC int posixtrace_log_type(struct posixtrace_log *log, const char *name,
				    trace_event_id_t *id)
{
	return log && name && id ? ptrc_log_copy_type(log, name, id) : EINVAL;
}

PTRC_PUBLIC int posixtrace_log_set_layout(struct posixtrace_log *log, trace_event_id_t id,
					  const char *layout)
{
	int error = log && layout ? ptrc_layout_check(layout) : EINVAL;

	return error ? error : ptrc_log_copy_set_layout(log, id, layout);
}

PTRC_PUBLIC int posixtrace_log_add(struct posixtrace_log *log, const struct posixtrace_event *event)
{
	int cancel, error;

	if (!log || !event || (!event->pt_data && event->pt_size) ||
	    event->pt_info.posix_timestamp.tv_nsec < 0 ||
	    event->pt_info.posix_timestamp.tv_nsec >= 1000000000)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = ptrc_log_copy_add(log, event);
	pthread_setcancelstate(cancel, NULL);
	return error;
}

PTRC_PUBLIC int posixtrace_log_add_whose(struct posixtrace_log *log, trace_id_t source)
{
	struct ptrc_log_stream *from;
	int cancel, error;

	if (!log)
		return EINVAL;
	from = ptrc_handle_get(source, PTRC_HANDLE_LOG, NULL);
	if (!from)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = ptrc_log_copy_add_whose(log, ptrc_log_stream_whose(from));
	ptrc_handle_put(source);
	pthread_setcancelstate(cancel, NULL);
	return error;
}

PTRC_PUBLIC int posixtrace_log_close(struct posixtrace_log *log,
				     const struct posixtrace_counts *counts)
{
	int cancel, error;

	if (!log)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = ptrc_log_copy_close(log, counts);
	pthread_setcancelstate(cancel, NULL);
	return error;
}
