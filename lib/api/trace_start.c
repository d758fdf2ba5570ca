/* SPDX-License-Identifier: MIT */
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
	PTRC_ENTER(c, id);

	if (!c)
		return EINVAL;
	PTRC_LOCK(&c->lock);
	/* A stream that is being shut down has been stopped and must not start again. */
	if (!c->is_closing) {
		/* The filter in the START event includes the types that the patterns exclude, so
		 * every name is compared with the patterns first. */
		ptrc_patterns_judge_all(c->stream.header, c->names);
		ptrc_stream_start(&c->stream, &origin, addr);
	}
	return 0;
}

PTRC_PUBLIC int posix_trace_stop(trace_id_t id)
{
	uint64_t addr = (uint64_t)__builtin_return_address(0);
	struct ptrc_context origin = ptrc_controller_origin();
	PTRC_ENTER(c, id);

	if (!c)
		return EINVAL;
	pthread_mutex_lock(&c->lock);
	ptrc_stream_stop(&c->stream, &origin, addr);
	pthread_mutex_unlock(&c->lock);
	/* Wait for event calls that started before the stop, so that a program that then reads all
	 * available events gets the events of these calls, too. */
	PTRC_LOCK(&c->reader_lock);
	ptrc_marks_wait_all(c->stream.header, &c->stream.given_up);
	return 0;
}

PTRC_PUBLIC int posix_trace_clear(trace_id_t id)
{
	int error = 0;
	PTRC_ENTER(c, id);

	if (!c)
		return EINVAL;
	PTRC_LOCK(&c->keeper_lock);
	PTRC_LOCK(&c->lock);
	PTRC_LOCK(&c->reader_lock);
	/* If the stream has a log, the keeper clears both, so that it does not flush between the
	 * two clears. */
	if (c->has_log && !c->is_closing)
		error = ptrc_controller_command(c, PTRC_KEEPER_CLEAR, NULL, 0);
	else
		ptrc_stream_clear(&c->stream);
	atomic_store(&c->list_next, 0);
	return error;
}
