/* SPDX-License-Identifier: MIT */
/* A log as a whole: its head, its emptying, its end (docs/log-format.md). */
#ifndef PTRC_LIB_LOG_LOG_WRITER_H
#define PTRC_LIB_LOG_LOG_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* Makes a writer ready, without writing, for a log of this trace and policy that no keeper writes. It needs
 * neither shared memory nor, if fd is -1, a file; then w->memory is to be set. fd stays the caller's; nobody
 * else may change its flags or offset. `trace->attr` stays. EINVAL. */
PTRC_MUST_CHECK int ptrc_log_writer_begin(struct ptrc_log_writer *w,
					  const struct ptrc_log_trace *trace, int policy, int fd);
/* The same for the keeper of this stream. is_restart: goes on where header.log_state says. ENOMEM, EINVAL. */
PTRC_MUST_CHECK int ptrc_log_writer_init(struct ptrc_log_writer *w,
					 struct ptrc_stream_header *header, int fd,
					 bool is_restart);
void ptrc_log_writer_free(struct ptrc_log_writer *w);

/* The following return the error number of a failed write, or ENOMEM. */

/* Empties the file and writes the head, of the member of a rotated log that the state says. */
PTRC_MUST_CHECK int ptrc_log_writer_head(struct ptrc_log_writer *w);
/* Empties the log. A pipe cannot be emptied: it is told that the filter is empty from now_ns
 * on. */
PTRC_MUST_CHECK int ptrc_log_writer_clear(struct ptrc_log_writer *w, int64_t now_ns);
/* The head that comes next begins a log that has nothing to do with what the state was of. */
void ptrc_log_writer_forget(struct ptrc_log_writer *w);
/* Writes STATUS and END of a member that another one follows. */
PTRC_MUST_CHECK int ptrc_log_writer_end(struct ptrc_log_writer *w);
/* Keeps room for these two below the file size limit, until they are written. */
void ptrc_log_reserve_close(struct ptrc_log_writer *w);
/* Writes STATUS and END of a keeper's log, and waits until the log is on its disk (log_output.h). If it does
 * not get there, STATUS tells of the error. */
PTRC_MUST_CHECK int ptrc_log_writer_close(struct ptrc_log_writer *w);
/* The same of another log, whose losses `status` has. */
PTRC_MUST_CHECK int ptrc_log_writer_finish(struct ptrc_log_writer *w,
					   struct ptrc_log_status status);
/* Adds STATUS to w->out, completed by what the writer knows, and with is_end END. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_writer_put_status(struct ptrc_log_writer *w,
					       struct ptrc_log_status status, bool is_end);

#endif
