/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <trace.h>

#include "lib/control/handle.h"
#include "lib/control/next.h"
#include "lib/life/life.h"
#include "lib/log/log_stream.h"

struct leave {
	struct ptrc_ref ref;
	int cancel_state;
};

static void leave(void *arg)
{
	struct leave *l = arg;

	ptrc_handle_put(&l->ref);
	pthread_setcancelstate(l->cancel_state, NULL);
}

static int next(trace_id_t id, enum ptrc_next_how how, const struct ptrc_next_result *out,
		const struct timespec *until)
{
	struct leave l;
	int error;

	/* The standard requires these values whenever no event is reported. */
	if (out->unavailable)
		*out->unavailable = 1;
	if (out->data_len)
		*out->data_len = 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &l.cancel_state);
	l.ref = ptrc_handle_get(id, how == PTRC_NEXT_TRY ? PTRC_HANDLE_ACTIVE : PTRC_HANDLE_ANY);
	pthread_cleanup_push(leave, &l);
	if (!l.ref.object || !out->event || !out->data_len || !out->unavailable ||
	    (!out->data && out->num_bytes))
		error = EINVAL;
	else if (l.ref.kind == PTRC_HANDLE_LOG)
		error = ptrc_log_stream_getnext(l.ref.object, out->event, out->data, out->num_bytes,
						out->data_len, out->unavailable);
	else
		error = ptrc_next_live(l.ref.object, how, out, until, l.cancel_state);
	pthread_cleanup_pop(1);
	return error;
}

PTRC_PUBLIC int posix_trace_getnext_event(trace_id_t id,
					  struct posix_trace_event_info *restrict event,
					  void *restrict data, size_t num_bytes,
					  size_t *restrict data_len, int *restrict unavailable)
{
	const struct ptrc_next_result out = {event, data, num_bytes, data_len, unavailable};

	return next(id, PTRC_NEXT_WAIT, &out, NULL);
}

PTRC_PUBLIC int posix_trace_timedgetnext_event(trace_id_t id,
					       struct posix_trace_event_info *restrict event,
					       void *restrict data, size_t num_bytes,
					       size_t *restrict data_len, int *restrict unavailable,
					       const struct timespec *restrict abs_timeout)
{
	const struct ptrc_next_result out = {event, data, num_bytes, data_len, unavailable};

	return next(id, PTRC_NEXT_UNTIL, &out, abs_timeout);
}

PTRC_PUBLIC int posix_trace_trygetnext_event(trace_id_t id,
					     struct posix_trace_event_info *restrict event,
					     void *restrict data, size_t num_bytes,
					     size_t *restrict data_len, int *restrict unavailable)
{
	const struct ptrc_next_result out = {event, data, num_bytes, data_len, unavailable};

	return next(id, PTRC_NEXT_TRY, &out, NULL);
}
