/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <posixtrace-control.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/control/cursor.h"
#include "lib/model/eventset.h"

PTRC_PUBLIC int posixtrace_cursor_open(trace_id_t stream, int flags,
				       struct posixtrace_cursor **cursor)
{
	if (!cursor || (flags & ~POSIXTRACE_CURSOR_SNAPSHOT))
		return EINVAL;
	return ptrc_cursor_open(stream, flags & POSIXTRACE_CURSOR_SNAPSHOT, cursor);
}

PTRC_PUBLIC int posixtrace_cursor_select(struct posixtrace_cursor *cursor,
					 const trace_event_set_t *types)
{
	if (!cursor || !ptrc_set_is_valid(types))
		return EINVAL;
	return ptrc_cursor_select(cursor, types);
}

PTRC_PUBLIC int posixtrace_cursor_trygetnext_event(struct posixtrace_cursor *cursor,
						   struct posix_trace_event_info *event, void *data,
						   size_t num_bytes, size_t *data_len,
						   int *unavailable)
{
	const struct ptrc_next_result out = {event, data, num_bytes, data_len, unavailable};

	if (unavailable)
		*unavailable = 1;
	if (data_len)
		*data_len = 0;
	if (!cursor || !event || !data_len || !unavailable || (!data && num_bytes))
		return EINVAL;
	return ptrc_cursor_next(cursor, &out);
}

PTRC_PUBLIC int posixtrace_cursor_get_missed(struct posixtrace_cursor *cursor,
					     unsigned long *missed)
{
	uint64_t count;
	int error;

	if (!cursor || !missed)
		return EINVAL;
	error = ptrc_cursor_missed(cursor, &count);
	if (!error)
		*missed = count;
	return error;
}

PTRC_PUBLIC void posixtrace_cursor_close(struct posixtrace_cursor *cursor)
{
	if (cursor)
		ptrc_cursor_close(cursor);
}
