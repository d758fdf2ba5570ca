/* SPDX-License-Identifier: MIT */
/* posixtrace_log_writer_open, _type, _add, _add_origin, _close. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <trace.h>

#include "lib/api/figures.h"
#include "lib/base/common.h"
#include "lib/control/handle.h"
#include "lib/log/log_copy.h"
#include "lib/model/layout_text.h"
#include "lib/log/log_stream.h"

PTRC_PUBLIC int posixtrace_log_writer_open(int fd, const trace_attr_t *attr,
					   const struct timespec *created,
					   struct posixtrace_log_writer **log)
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

PTRC_PUBLIC int posixtrace_log_writer_type(struct posixtrace_log_writer *log, const char *name,
					   const char *layout, trace_event_id_t *id)
{
	int error = layout ? ptrc_layout_check(layout) : 0;

	if (!log || !name || !id)
		return EINVAL;
	return error ? error : ptrc_log_copy_type(log, name, layout, id);
}

PTRC_PUBLIC int posixtrace_log_writer_add(struct posixtrace_log_writer *log,
					  const struct posixtrace_event *event)
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

PTRC_PUBLIC int posixtrace_log_writer_add_origin(struct posixtrace_log_writer *log,
						 trace_id_t source)
{
	struct ptrc_log_stream *from = ptrc_handle_get(source, PTRC_HANDLE_LOG, NULL);
	int cancel, error;

	if (!from)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = log ? ptrc_log_copy_add_whose(log, ptrc_log_stream_whose(from)) : EINVAL;
	ptrc_handle_put(source);
	pthread_setcancelstate(cancel, NULL);
	return error;
}

/* What the source of the events lacked is what the source of this log lacked. */
static void take_damage(struct ptrc_counts *c)
{
	c->pt_source_damaged_events +=
		c->pt_damaged_events - c->pt_file_gap_events + c->pt_missing_events;
	c->pt_source_damaged_parts += c->pt_damaged_parts + c->pt_missing_names;
	c->pt_is_source_uncounted |= c->pt_uncounted_gaps || c->pt_unwritten_events ||
				     (c->pt_missing_files && !c->pt_missing_events);
}

PTRC_PUBLIC int posixtrace_log_writer_close(struct posixtrace_log_writer *log,
					    const struct posixtrace_count *figures, size_t count)
{
	struct ptrc_counts lost = {0};
	bool is_wrong = !figures && count;
	int cancel, error;

	if (!log)
		return EINVAL;
	for (size_t i = 0; i < count && figures; i++)
		ptrc_figures_set(&lost, &figures[i]);
	take_damage(&lost);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = ptrc_log_copy_close(log, &lost);
	pthread_setcancelstate(cancel, NULL);
	return is_wrong ? EINVAL : error;
}
