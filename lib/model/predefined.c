/* SPDX-License-Identifier: MIT */
#include "lib/model/predefined.h"

#include <stddef.h>

const char *ptrc_names_predefined(uint32_t id)
{
	static const char names[PTRC_ID_FIRST][32] = {
		"",
		"posix_trace_start",
		"posix_trace_stop",
		"posix_trace_filter",
		"posix_trace_overflow",
		"posix_trace_resume",
		"posix_trace_flush_start",
		"posix_trace_flush_stop",
		"posix_trace_error",
		"posix_trace_unnamed_userevent",
	};

	return id >= 1 && id < PTRC_ID_FIRST ? names[id] : NULL;
}
