/* SPDX-License-Identifier: MIT */
/* From the stream into its log: what posix_trace_flush() asks for. Freestanding. */
#ifndef PTRC_LIB_LOG_LOG_FLUSH_H
#define PTRC_LIB_LOG_LOG_FLUSH_H

#include "lib/base/common.h"
#include "lib/log/log_state.h"
#include "lib/model/names.h"
#include "lib/stream/stream.h"

/* Everything recorded before the call gets into the log, as far as the log's policy allows, and
 * out of the stream. On error (ENOMEM, or the error number of a write) it stays in the stream,
 * and the log ends with a whole event. `names` may be null. */
PTRC_MUST_CHECK int ptrc_log_flush(struct ptrc_log_writer *w, struct ptrc_stream *s,
				   const struct ptrc_names_object *names);

/* For a keeper that goes on for a dead one: takes events out of the stream that the dead one
 * had written to the log, but not yet taken out. */
void ptrc_log_flush_recover(struct ptrc_log_writer *w, struct ptrc_stream *s);

#endif
