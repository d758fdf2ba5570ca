/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <trace.h>

#include "include/posixtrace-private.h"
#include "lib/api/on_log.h"
#include "lib/base/scope.h"
#include "lib/base/timespec.h"
#include "lib/model/eventset.h"

int ptrc_log_select(trace_id_t trid, const struct posixtrace_span *spans, size_t count,
		    const trace_event_set_t *types, const trace_event_set_t *always)
{
	if ((!spans && count) || (types && !ptrc_set_is_valid(types)))
		return EINVAL;
	for (size_t i = 0; i < count; i++)
		if (!ptrc_timespec_is_valid(&spans[i].pt_first) ||
		    !ptrc_timespec_is_valid(&spans[i].pt_last))
			return EINVAL;
	return PTRC_ON_LOG(trid, ptrc_log_stream_select, spans, count, types, always);
}

PTRC_PUBLIC int posixtrace_log_select(trace_id_t trid, const struct posixtrace_span *spans,
				      size_t count, const trace_event_set_t *types)
{
	return ptrc_log_select(trid, spans, count, types, NULL);
}

int ptrc_log_select_parts(trace_id_t trid, unsigned long first, unsigned long end)
{
	return PTRC_ON_LOG(trid, ptrc_log_stream_select_parts, first, end);
}

int ptrc_log_get_place(trace_id_t trid, struct ptrc_reading_place *place)
{
	PTRC_REF(log, trid, PTRC_HANDLE_LOG);

	if (!log.object)
		return EINVAL;
	ptrc_log_stream_place(log.object, place);
	return 0;
}

int ptrc_log_find_file(trace_id_t trid, int fd)
{
	return PTRC_ON_LOG(trid, ptrc_log_stream_find_file, fd);
}

PTRC_PUBLIC int posixtrace_log_get_time_of_last(trace_id_t trid, unsigned long count,
						struct timespec *time)
{
	int64_t ns;
	int error = time ? PTRC_ON_LOG(trid, ptrc_log_stream_time_of_last, count, &ns) : EINVAL;

	if (!error)
		*time = ptrc_timespec_of(ns);
	return error;
}

int ptrc_log_verify(trace_id_t trid, unsigned long *differing)
{
	return PTRC_ON_LOG(trid, ptrc_log_stream_verify, differing);
}

PTRC_PUBLIC int posixtrace_log_next_block(trace_id_t trid, struct posixtrace_block **block)
{
	PTRC_NO_CANCEL();

	return block ? PTRC_ON_LOG(trid, ptrc_log_stream_getnext_block, block) : EINVAL;
}

PTRC_PUBLIC void posixtrace_log_free_block(struct posixtrace_block *block)
{
	if (block)
		ptrc_log_stream_free_block(block);
}
