/* SPDX-License-Identifier: MIT */
/* posixtrace_log_select, _get_time_of_last, _next_block, _free_block; ptrc_log_select_parts, _get_place,
 * _verify. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <trace.h>

#include "include/posixtrace-private.h"
#include "lib/base/common.h"
#include "lib/base/timespec.h"
#include "lib/control/handle.h"
#include "lib/log/log_stream.h"
#include "lib/model/eventset.h"

static bool is_time(const struct timespec *t)
{
	return t->tv_nsec >= 0 && t->tv_nsec < 1000000000;
}

PTRC_PUBLIC int posixtrace_log_select(trace_id_t trid, const struct posixtrace_span *spans,
				      size_t count, const trace_event_set_t *types)
{
	struct ptrc_log_span *copy = NULL;
	struct ptrc_log_stream *log;
	int error;

	if ((!spans && count) || (types && !ptrc_set_is_valid(types)))
		return EINVAL;
	for (size_t i = 0; i < count; i++)
		if (!is_time(&spans[i].pt_first) || !is_time(&spans[i].pt_last))
			return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	if (count)
		copy = calloc(count, sizeof(*copy));
	if (count && !copy) {
		ptrc_handle_put(trid);
		return ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		copy[i].first_ns = ptrc_timespec_ns(&spans[i].pt_first);
		copy[i].last_ns = ptrc_timespec_ns(&spans[i].pt_last);
	}
	error = ptrc_log_stream_select(log, copy, count, types);
	ptrc_handle_put(trid);
	return error;
}

int ptrc_log_select_parts(trace_id_t trid, unsigned long first, unsigned long end)
{
	struct ptrc_log_stream *log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	int error;

	if (!log)
		return EINVAL;
	error = ptrc_log_stream_select_parts(log, first, end);
	ptrc_handle_put(trid);
	return error;
}

int ptrc_log_get_place(trace_id_t trid, struct ptrc_reading_place *place)
{
	struct ptrc_log_stream *log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);

	if (!log)
		return EINVAL;
	ptrc_log_stream_place(log, place);
	ptrc_handle_put(trid);
	return 0;
}

PTRC_PUBLIC int posixtrace_log_get_time_of_last(trace_id_t trid, unsigned long count,
						struct timespec *time)
{
	struct ptrc_log_stream *log;
	int64_t ns;
	bool has_them;

	if (!time)
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	has_them = ptrc_log_stream_time_of_last(log, count, &ns);
	if (has_them)
		*time = ptrc_timespec_of(ns);
	ptrc_handle_put(trid);
	return has_them ? 0 : ENODATA;
}

int ptrc_log_verify(trace_id_t trid, unsigned long *differing)
{
	struct ptrc_log_stream *log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	uint64_t count = 0;
	int error;

	if (!log)
		return EINVAL;
	error = ptrc_log_stream_verify(log, &count);
	if (!error)
		*differing = count;
	ptrc_handle_put(trid);
	return error;
}

PTRC_PUBLIC int posixtrace_log_next_block(trace_id_t trid, struct posixtrace_block **block)
{
	struct ptrc_log_stream *log;
	int cancel, error;

	if (!block)
		return EINVAL;
	log = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL);
	if (!log)
		return EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = ptrc_log_stream_getnext_block(log, block);
	pthread_setcancelstate(cancel, NULL);
	ptrc_handle_put(trid);
	return error;
}

PTRC_PUBLIC void posixtrace_log_free_block(struct posixtrace_block *block)
{
	if (block)
		ptrc_log_stream_free_block(block);
}
