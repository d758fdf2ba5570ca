/* SPDX-License-Identifier: MIT */
/* posix_trace_start, _stop, _clear. */
#include "config.h"

#include <errno.h>
#include <trace.h>

#include "lib/control/controller.h"
#include "lib/life/life.h"
#include "lib/stream/marks.h"
#include "lib/stream/patterns.h"

PTRC_PUBLIC int posix_trace_start(trace_id_t id)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_context origin = ptrc_controller_origin();
	int cancel;
	struct ptrc_controller *c = ptrc_controller_enter(id, &cancel);

	if (!c)
		return EINVAL;
	pthread_mutex_lock(&c->lock);
	/* A stream that is shut down has been stopped for good. */
	if (!c->is_closing) {
		/* So that START tells which of the names that exist are excluded. */
		ptrc_patterns_judge_all(c->stream.header, c->names);
		ptrc_stream_start(&c->stream, &origin, addr);
	}
	pthread_mutex_unlock(&c->lock);
	ptrc_controller_leave(id, cancel);
	return 0;
}

PTRC_PUBLIC int posix_trace_stop(trace_id_t id)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_context origin = ptrc_controller_origin();
	int cancel;
	struct ptrc_controller *c = ptrc_controller_enter(id, &cancel);

	if (!c)
		return EINVAL;
	pthread_mutex_lock(&c->lock);
	ptrc_stream_stop(&c->stream, &origin, addr);
	pthread_mutex_unlock(&c->lock);
	/* Wait for event calls that began before the stop: so a program that now reads until no
	 * event is left gets all events. */
	pthread_mutex_lock(&c->reader_lock);
	ptrc_marks_wait_all(c->stream.header, &c->stream.given_up);
	pthread_mutex_unlock(&c->reader_lock);
	ptrc_controller_leave(id, cancel);
	return 0;
}

PTRC_PUBLIC int posix_trace_clear(trace_id_t id)
{
	int cancel, error = 0;
	struct ptrc_controller *c = ptrc_controller_enter(id, &cancel);

	if (!c)
		return EINVAL;
	pthread_mutex_lock(&c->keeper_lock);
	pthread_mutex_lock(&c->lock);
	pthread_mutex_lock(&c->reader_lock);
	/* If there is a log the keeper clears stream and log, between two flushes. */
	if (c->has_log && !c->is_closing)
		error = ptrc_controller_command(c, PTRC_KEEPER_CLEAR, NULL, 0);
	else
		ptrc_stream_clear(&c->stream);
	pthread_mutex_unlock(&c->reader_lock);
	pthread_mutex_lock(&c->list_lock);
	c->list_next = 0;
	pthread_mutex_unlock(&c->list_lock);
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_unlock(&c->keeper_lock);
	ptrc_controller_leave(id, cancel);
	return error;
}
