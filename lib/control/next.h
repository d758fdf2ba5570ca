/* SPDX-License-Identifier: MIT */
/* Getting the next event of an active stream, or waiting for it. */
#ifndef PTRC_LIB_CONTROL_NEXT_H
#define PTRC_LIB_CONTROL_NEXT_H

#include <stddef.h>
#include <time.h>
#include <trace.h>

#include "lib/control/controller.h"

enum ptrc_next_how { PTRC_NEXT_WAIT, PTRC_NEXT_UNTIL, PTRC_NEXT_TRY };

/* The arguments of posix_trace_getnext_event() through which it stores its results. */
struct ptrc_next_result {
	struct posix_trace_event_info *event;
	void *data;
	size_t num_bytes;
	size_t *data_len;
	int *unavailable;
};

/* Gets the next event of a stream. If there is none, PTRC_NEXT_WAIT and PTRC_NEXT_UNTIL wait for
 * it, the latter up to the time `until` of CLOCK_REALTIME; PTRC_NEXT_TRY returns 0 and leaves the
 * results unchanged. While the thread sleeps, it has the cancel state callers_state. EINVAL: the
 * stream is being shut down, or `until` is invalid. ETIMEDOUT, EINTR. */
int ptrc_next_live(struct ptrc_controller *c, enum ptrc_next_how how,
		   const struct ptrc_next_result *out, const struct timespec *until,
		   int callers_state);

/* Gets the next event from this reader of the stream, without waiting. ENODATA: there is no
 * event. */
int ptrc_next_try(struct ptrc_controller *c, struct ptrc_live_reader *reader,
		  const struct ptrc_next_result *out);

#endif
