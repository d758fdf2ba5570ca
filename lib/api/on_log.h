/* SPDX-License-Identifier: MIT */
/* A macro that calls an internal function for the open log with a given trace_id_t. */
#ifndef PTRC_LIB_API_ON_LOG_H
#define PTRC_LIB_API_ON_LOG_H

#include <errno.h>

#include "lib/control/handle.h"
#include "lib/log/log_stream.h"

/* The result of function(log, ...); EINVAL if no open log has the identifier. */
#define PTRC_ON_LOG(trid, function, ...)                                     \
	({                                                                   \
		PTRC_REF(log_, trid, PTRC_HANDLE_LOG);                       \
		log_.object ? function(log_.object, ##__VA_ARGS__) : EINVAL; \
	})

#endif
