/* SPDX-License-Identifier: MIT */
/* Getting the next event of an active stream, or waiting for it. */
#ifndef PTRC_LIB_CONTROL_NEXT_H
#define PTRC_LIB_CONTROL_NEXT_H

#include <stddef.h>
#include <time.h>
#include <trace.h>

#include "lib/control/controller.h"

enum ptrc_next_how { PTRC_NEXT_WAIT, PTRC_NEXT_UNTIL, PTRC_NEXT_TRY };

/* The result pointers of posix_trace_getnext_event. */
struct ptrc_next_result {
	struct posix_trace_event_info *event;
	void *data;
	size_t num_bytes;
	size_t *data_len;
	int *unavailable;
};

/* Gets the next event. If there is none and `how` is TRY, this returns 0 and *out is unchanged.
 * While the thread sleeps it has the cancel state callers_state. EINVAL: the stream is being shut
 * down, or `until` is invalid. ETIMEDOUT, EINTR. */
int ptrc_next_live(struct ptrc_controller *c, enum ptrc_next_how how,
		   const struct ptrc_next_result *out, const struct timespec *until,
		   int callers_state);

/* Gets the next event from a reader of the stream. ENODATA: there is none. */
int ptrc_next_try(struct ptrc_controller *c, struct ptrc_live_reader *reader,
		  const struct ptrc_next_result *out);

#endif
