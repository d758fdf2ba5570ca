/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <trace.h>

#include "lib/base/common.h"
#include "lib/life/life.h"
#include "lib/recorder/event.h"

PTRC_PUBLIC PTRC_NO_STACK_PROTECTOR void posix_trace_event(trace_event_id_t id,
							   const void *restrict data, size_t len)
{
	ptrc_event_record(id, data, len, 0);
}
