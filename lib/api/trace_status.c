/* SPDX-License-Identifier: MIT */
/* posix_trace_get_attr, _get_status, posixtrace_get_counts and _get_type_counts. */
#include "config.h"

#include <errno.h>
#include <trace.h>

#include "lib/api/figures.h"
#include "lib/base/file.h"
#include "lib/control/controller.h"
#include "lib/control/handle.h"
#include "lib/life/life.h"
#include "lib/log/log_stream.h"
#include "lib/model/attr.h"
#include "lib/stream/clock.h"
#include "lib/stream/status.h"

PTRC_PUBLIC int posix_trace_get_attr(trace_id_t id, trace_attr_t *attr)
{
	enum ptrc_handle_kind kind;
	void *object = ptrc_handle_get(id, PTRC_HANDLE_ANY, &kind);

	if (!object)
		return EINVAL;
	if (attr && kind == PTRC_HANDLE_LOG)
		ptrc_log_stream_attr(object, attr);
	else if (attr)
		ptrc_attr_export(&((struct ptrc_controller *)object)->stream.header->attr, attr);
	ptrc_handle_put(id);
	return attr ? 0 : EINVAL;
}

/* One atomic step reads the status and resets the overruns and the flush error, so that no change
 * in between is lost. */
static void take_status(struct ptrc_controller *c, struct posix_trace_status_info *st)
{
	struct ptrc_stream_header *h = c->stream.header;
	uint64_t bits;
	int keeper;

	ptrc_controller_revive_keeper(c, &keeper);
	ptrc_stream_complete(&c->stream);
	bits = atomic_fetch_and_explicit(&h->status,
					 ~(PTRC_ST_OVERRUN | PTRC_ST_LOG_OVERRUN |
					   UINT64_C(0xffffffff) << PTRC_ST_ERROR_SHIFT),
					 memory_order_acq_rel);
	ptrc_status_export(bits, st);
}

PTRC_PUBLIC int posix_trace_get_status(trace_id_t id, struct posix_trace_status_info *status)
{
	enum ptrc_handle_kind kind;
	void *object = ptrc_handle_get(id, PTRC_HANDLE_ANY, &kind);

	if (!object)
		return EINVAL;
	if (status && kind == PTRC_HANDLE_LOG)
		ptrc_log_stream_status(object, status);
	else if (status)
		take_status(object, status);
	ptrc_handle_put(id);
	return status ? 0 : EINVAL;
}

int ptrc_trace_counts(trace_id_t id, struct ptrc_counts *counts)
{
	enum ptrc_handle_kind kind;
	void *object = ptrc_handle_get(id, PTRC_HANDLE_ANY, &kind);

	if (!object)
		return EINVAL;
	*counts = (struct ptrc_counts){0};
	if (kind == PTRC_HANDLE_LOG)
		ptrc_log_stream_counts(object, counts);
	else
		ptrc_controller_count(object, counts);
	ptrc_handle_put(id);
	return 0;
}

PTRC_PUBLIC int posixtrace_get_counts(trace_id_t id, struct posixtrace_count *figures, size_t size,
				      size_t *count)
{
	struct ptrc_counts counts;

	if (!count || (!figures && size) || ptrc_trace_counts(id, &counts))
		return EINVAL;
	*count = ptrc_figures_get(&counts, figures, size);
	return 0;
}

/* While the keeper commits a flush the counts are not exact. The call looks again at these
 * intervals, for at most this time. */
#define COUNT_WAIT_NS INT64_C(1000000000)
#define COUNT_PAUSE_NS 500000

static void count_types(struct ptrc_controller *c, struct posixtrace_type_count *counts,
			size_t count)
{
	int64_t give_up;
	bool is_exact;
	int keeper;

	ptrc_controller_revive_keeper(c, &keeper);
	/* A clock and not a number of tries, because counting in a large stream takes a while. */
	give_up = ptrc_clock_ns(CLOCK_MONOTONIC) + COUNT_WAIT_NS;
	while (count) {
		/* posix_trace_getnext_event has this lock while it reads, but not while it sleeps. */
		pthread_mutex_lock(&c->reader_lock);
		is_exact = ptrc_live_reader_count(&c->reader, counts, count);
		pthread_mutex_unlock(&c->reader_lock);
		if (is_exact || ptrc_clock_ns(CLOCK_MONOTONIC) >= give_up)
			break;
		ptrc_file_sleep_ns(COUNT_PAUSE_NS);
	}
}

PTRC_PUBLIC int posixtrace_get_type_counts(trace_id_t id, struct posixtrace_type_count *counts,
					   size_t count)
{
	enum ptrc_handle_kind kind;
	void *object = ptrc_handle_get(id, PTRC_HANDLE_ANY, &kind);
	int error = 0;

	if (!object)
		return EINVAL;
	if (!counts && count)
		error = EINVAL;
	else if (kind == PTRC_HANDLE_LOG)
		error = ptrc_log_stream_totals(object, counts, count);
	else
		count_types(object, counts, count);
	ptrc_handle_put(id);
	return error;
}
