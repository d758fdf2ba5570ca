/* SPDX-License-Identifier: MIT */
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
	PTRC_REF(ref, id, PTRC_HANDLE_ANY);

	if (!ref.object || !attr)
		return EINVAL;
	if (ref.kind == PTRC_HANDLE_LOG)
		ptrc_log_stream_attr(ref.object, attr);
	else
		ptrc_attr_export(&((struct ptrc_controller *)ref.object)->stream.header->attr,
				 attr);
	return 0;
}

/* Reads the status, and resets the overrun statuses and the flush error by the same atomic
 * operation, so that no change between reading and resetting is lost. */
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
	PTRC_REF(ref, id, PTRC_HANDLE_ANY);

	if (!ref.object || !status)
		return EINVAL;
	if (ref.kind == PTRC_HANDLE_LOG)
		ptrc_log_stream_status(ref.object, status);
	else
		take_status(ref.object, status);
	return 0;
}

int ptrc_trace_counts(trace_id_t id, struct ptrc_counts *counts)
{
	PTRC_REF(ref, id, PTRC_HANDLE_ANY);

	if (!ref.object)
		return EINVAL;
	*counts = (struct ptrc_counts){0};
	if (ref.kind == PTRC_HANDLE_LOG)
		ptrc_log_stream_counts(ref.object, counts);
	else
		ptrc_controller_count(ref.object, counts);
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

/* A count is not exact if the keeper takes flushed events out of the stream meanwhile. Then
 * count_types() counts again, after a pause of COUNT_PAUSE_NS each time, for at most COUNT_WAIT_NS
 * in all. */
#define COUNT_WAIT_NS INT64_C(1000000000)
#define COUNT_PAUSE_NS 500000

static void count_types(struct ptrc_controller *c, struct posixtrace_type_count *counts,
			size_t count)
{
	int64_t give_up;
	bool is_exact;
	int keeper;

	ptrc_controller_revive_keeper(c, &keeper);
	/* Limits the time and not the number of tries, because one count of a large stream takes
	 * long. */
	give_up = ptrc_clock_ns(CLOCK_MONOTONIC) + COUNT_WAIT_NS;
	while (count) {
		/* posix_trace_getnext_event() holds this lock while it reads, but not while it
		 * sleeps, so the lock is soon free. */
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
	PTRC_REF(ref, id, PTRC_HANDLE_ANY);

	if (!ref.object || (!counts && count))
		return EINVAL;
	if (ref.kind == PTRC_HANDLE_LOG)
		return ptrc_log_stream_totals(ref.object, counts, count);
	count_types(ref.object, counts, count);
	return 0;
}
