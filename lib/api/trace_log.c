/* SPDX-License-Identifier: MIT */
/* posix_trace_open(), posix_trace_close(), posix_trace_rewind(), posixtrace_get_keeper(). */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <pthread.h>
#include <stddef.h>
#include <trace.h>

#include "lib/base/common.h"
#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/life/life.h"
#include "lib/log/log_stream.h"

PTRC_PUBLIC int posix_trace_open(int file_desc, trace_id_t *trid)
{
	struct ptrc_log_stream *log;
	int error;

	if (!trid)
		return EINVAL;
	error = ptrc_log_stream_open(file_desc, &log);
	if (error)
		return error;
	error = ptrc_handle_new(PTRC_HANDLE_LOG, log, trid);
	if (error)
		ptrc_log_stream_close(log);
	return error;
}

PTRC_PUBLIC int posix_trace_close(trace_id_t trid)
{
	struct ptrc_log_stream *log = ptrc_handle_take(trid, PTRC_HANDLE_LOG);
	int cancel;

	if (!log)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ptrc_handle_drain(trid);
	ptrc_log_stream_close(log);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}

PTRC_PUBLIC int posix_trace_rewind(trace_id_t trid)
{
	struct ptrc_log_stream *log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	int error;

	if (!log)
		return EINVAL;
	error = ptrc_log_stream_rewind(log);
	ptrc_handle_put(trid);
	return error;
}

PTRC_PUBLIC int posixtrace_get_keeper(trace_id_t trid, pid_t *pid)
{
	struct ptrc_controller *c = ptrc_handle_get(trid, PTRC_HANDLE_ACTIVE, NULL);
	int keeper, error;

	if (!c)
		return EINVAL;
	error = pid ? ptrc_controller_revive_keeper(c, &keeper) : EINVAL;
	if (!error)
		*pid = keeper;
	ptrc_handle_put(trid);
	return error;
}
