/* SPDX-License-Identifier: MIT */
/* posixtrace_open_parts, _add_part. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <stddef.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/control/handle.h"
#include "lib/log/log_stream.h"

PTRC_PUBLIC int posixtrace_open_parts(const void *bytes, size_t size, trace_id_t *trid)
{
	struct ptrc_log_stream *log;
	int error;

	if (!bytes || !trid)
		return EINVAL;
	error = ptrc_log_stream_begin(bytes, size, &log);
	if (error)
		return error;
	error = ptrc_handle_new(PTRC_HANDLE_LOG, log, trid);
	if (error)
		ptrc_log_stream_close(log);
	return error;
}

PTRC_PUBLIC int posixtrace_add_part(trace_id_t trid, const void *bytes, size_t size,
				    int *is_complete)
{
	struct ptrc_log_stream *log;
	int complete = 0;
	int error;

	if (!bytes && size)
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	error = ptrc_log_stream_feed(log, bytes, size, &complete);
	ptrc_handle_put(trid);
	if (!error && is_complete)
		*is_complete = complete;
	return error;
}
