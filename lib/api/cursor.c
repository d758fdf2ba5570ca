/* SPDX-License-Identifier: MIT */
/* posixtrace_cursor_open, _select, _trygetnext_event, _get_missed, _get_part, _end_part, _close. */
#include "config.h"

#include <errno.h>
#include <posixtrace.h>
#include <stdint.h>
#include <string.h>

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

/* Gives the caller as much of a part as it knows. */
static int give_part(struct posixtrace_part *to, size_t size, struct posixtrace_part *from,
		     int error)
{
	from->pt_size = size < sizeof(*from) ? size : sizeof(*from);
	if (!error)
		memcpy(to, from, from->pt_size);
	return error;
}

PTRC_PUBLIC int posixtrace_cursor_get_part(struct posixtrace_cursor *cursor,
					   struct posixtrace_part *part, size_t size)
{
	struct posixtrace_part p = {.pt_events = 0};

	if (!cursor || !part || size < sizeof(p.pt_size))
		return EINVAL;
	return give_part(part, size, &p, ptrc_cursor_get_part(cursor, &p));
}

PTRC_PUBLIC int posixtrace_cursor_end_part(struct posixtrace_cursor *cursor,
					   const struct posix_trace_status_info *status,
					   const struct posixtrace_counts *counts, int is_end,
					   struct posixtrace_part *part, size_t size)
{
	struct posixtrace_part p = {.pt_events = 0};

	if (!cursor || !status || !counts || !part || size < sizeof(p.pt_size))
		return EINVAL;
	return give_part(part, size, &p, ptrc_cursor_end_part(cursor, status, counts, is_end, &p));
}

PTRC_PUBLIC void posixtrace_cursor_close(struct posixtrace_cursor *cursor)
{
	if (cursor)
		ptrc_cursor_close(cursor);
}
