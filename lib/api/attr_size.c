/* SPDX-License-Identifier: MIT */
/* POSIX.1 posix_trace_attr_getlogsize and the functions on its page. */
#include "config.h"

#include <errno.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/model/attr.h"

PTRC_PUBLIC int posix_trace_attr_getlogsize(const trace_attr_t *restrict attr,
					    size_t *restrict logsize)
{
	if (ptrc_attr_check(attr) || !logsize)
		return EINVAL;
	*logsize = ptrc_attr_get(attr)->log_max_size;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_getmaxdatasize(const trace_attr_t *restrict attr,
						size_t *restrict maxdatasize)
{
	if (ptrc_attr_check(attr) || !maxdatasize)
		return EINVAL;
	*maxdatasize = ptrc_attr_get(attr)->max_data_size;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_getmaxsystemeventsize(const trace_attr_t *restrict attr,
						       size_t *restrict eventsize)
{
	if (ptrc_attr_check(attr) || !eventsize)
		return EINVAL;
	*eventsize = PTRC_ATTR_EVENT_OVERHEAD + PTRC_ATTR_SYSTEM_DATA_MAX;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_getmaxusereventsize(const trace_attr_t *restrict attr,
						     size_t data_len, size_t *restrict eventsize)
{
	uint64_t size;
	int error;

	if (ptrc_attr_check(attr) || !eventsize)
		return EINVAL;
	error = ptrc_attr_user_event_size(ptrc_attr_get(attr)->max_data_size, data_len, &size);
	if (error)
		return error;
	*eventsize = size;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_getstreamsize(const trace_attr_t *restrict attr,
					       size_t *restrict streamsize)
{
	if (ptrc_attr_check(attr) || !streamsize)
		return EINVAL;
	*streamsize = ptrc_attr_get(attr)->stream_min_size;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_setlogsize(trace_attr_t *attr, size_t logsize)
{
	if (ptrc_attr_check(attr))
		return EINVAL;
	ptrc_attr_edit(attr)->log_max_size = logsize;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_setmaxdatasize(trace_attr_t *attr, size_t maxdatasize)
{
	if (ptrc_attr_check(attr))
		return EINVAL;
	ptrc_attr_edit(attr)->max_data_size = maxdatasize;
	return 0;
}

PTRC_PUBLIC int posix_trace_attr_setstreamsize(trace_attr_t *attr, size_t streamsize)
{
	if (ptrc_attr_check(attr))
		return EINVAL;
	ptrc_attr_edit(attr)->stream_min_size = streamsize;
	ptrc_attr_edit(attr)->is_stream_size_set = 1;
	return 0;
}
