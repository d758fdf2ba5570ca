/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <trace.h>

#include "lib/api/figures.h"
#include "lib/base/scope.h"
#include "lib/base/timespec.h"
#include "lib/control/handle.h"
#include "lib/log/log_copy.h"
#include "lib/model/layout_text.h"
#include "lib/log/log_stream.h"

PTRC_PUBLIC int posixtrace_log_writer_open(int fd, const trace_attr_t *attr,
					   const struct timespec *created,
					   struct posixtrace_log_writer **log)
{
	trace_attr_t defaults;
	PTRC_NO_CANCEL();

	if (!log || (created && (created->tv_sec < 0 || !ptrc_timespec_is_valid(created))))
		return EINVAL;
	posix_trace_attr_init(&defaults);
	return ptrc_log_copy_create(fd, attr ? attr : &defaults, created, log);
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
	PTRC_NO_CANCEL();

	if (!log || !event || (!event->pt_data && event->pt_size) ||
	    !ptrc_timespec_is_valid(&event->pt_info.posix_timestamp))
		return EINVAL;
	return ptrc_log_copy_add(log, event);
}

PTRC_PUBLIC int posixtrace_log_writer_add_origin(struct posixtrace_log_writer *log,
						 trace_id_t source)
{
	PTRC_NO_CANCEL();
	PTRC_REF(from, source, PTRC_HANDLE_LOG);

	if (!from.object || !log)
		return EINVAL;
	return ptrc_log_copy_add_whose(log, ptrc_log_stream_whose(from.object));
}

/* For a new log whose events a program has copied from another log: `c` has the counts of that
 * other log. Adds the other log's damage to the pt_source_ counts, which the new log stores. */
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
	int error;
	PTRC_NO_CANCEL();

	if (!log)
		return EINVAL;
	for (size_t i = 0; i < count && figures; i++)
		ptrc_figures_set(&lost, &figures[i]);
	take_damage(&lost);
	error = ptrc_log_copy_close(log, &lost);
	return !figures && count ? EINVAL : error;
}
