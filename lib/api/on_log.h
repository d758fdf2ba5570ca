/* SPDX-License-Identifier: MIT */
/* Calls of functions on the log that an identifier stands for. */
#ifndef PTRC_LIB_API_ON_LOG_H
#define PTRC_LIB_API_ON_LOG_H

#include <errno.h>

#include "lib/control/handle.h"
#include "lib/log/log_stream.h"

/* The result of function(log, ...); EINVAL: no open log has this identifier. */
#define PTRC_ON_LOG(trid, function, ...)                                                     \
	({                                                                                   \
		struct ptrc_log_stream *log_ = ptrc_handle_get(trid, PTRC_HANDLE_LOG, NULL); \
		int error_ = log_ ? function(log_, ##__VA_ARGS__) : EINVAL;                  \
		if (log_)                                                                    \
			ptrc_handle_put(trid);                                               \
		error_;                                                                      \
	})

#endif
