/* SPDX-License-Identifier: MIT */
/* Bytes of a log on their way to a regular file, or to whatever takes a stream of
 * bytes. */
#ifndef PTRC_LIB_LOG_LOG_OUTPUT_H
#define PTRC_LIB_LOG_LOG_OUTPUT_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* Can fd be the log of a stream with this policy? A regular file can with each; a FIFO,
 * socket or character device only with POSIX_TRACE_APPEND. EBADF: not open for writing.
 * EINVAL. */
PTRC_MUST_CHECK int ptrc_log_check(int fd, int log_policy);

/* Both write all of it, or return the error number of a write. */

/* `offset` counts for regular files only. *done: how much reached the output, also on
 * error. */
PTRC_NONNULL()
PTRC_MUST_CHECK
int ptrc_log_write_at(struct ptrc_log_writer *w, uint64_t offset, const uint8_t *bytes,
		      uint64_t count, uint64_t *done);
/* At the end of a sequential log. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_append(struct ptrc_log_writer *w, const uint8_t *bytes,
				    uint64_t count);

#endif
