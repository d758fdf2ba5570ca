/* SPDX-License-Identifier: MIT */
/*
 * A log that a program writes, and not a keeper. The keeper's writer (log_write.h) does the work;
 * it gets the events in flushes of some 256 KiB. Such a log has two uses: a program writes events
 * of any source into a file; or it makes a log of a stream's events in memory, part by part, and
 * sends the parts.
 */
#ifndef PTRC_LIB_LOG_LOG_COPY_H
#define PTRC_LIB_LOG_LOG_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include "include/posixtrace-private.h"
#include "lib/base/common.h"
#include "lib/log/log_whose.h"
#include "lib/model/names.h"
#include "lib/stream/live_reader.h"

/* These implement posixtrace_log_writer_open(), _type(), _add() and _add_origin() of
 * posixtrace-log.h. ptrc_log_copy_close(), which ends such a log, is declared in
 * posixtrace-private.h. */
PTRC_MUST_CHECK int ptrc_log_copy_create(int fd, const trace_attr_t *attr,
					 const struct timespec *created,
					 struct posixtrace_log_writer **copy);
PTRC_MUST_CHECK int ptrc_log_copy_type(struct posixtrace_log_writer *c, const char *name,
				       const char *layout, trace_event_id_t *id);
PTRC_MUST_CHECK int ptrc_log_copy_add(struct posixtrace_log_writer *c,
				      const struct posixtrace_event *event);
PTRC_MUST_CHECK int ptrc_log_copy_add_whose(struct posixtrace_log_writer *c,
					    const struct ptrc_log_whose *whose);

/*
 * Begins a log in memory, with its head and the names of the stream. `stream` and `names` must stay
 * valid for all later calls except ptrc_log_copy_status() and ptrc_log_copy_free(). ENOMEM: no log
 * was begun. If a later call fails for want of memory, so do all calls after it.
 */
PTRC_MUST_CHECK int ptrc_log_copy_begin(const struct ptrc_stream_header *stream,
					const struct ptrc_names_object *names,
					struct posixtrace_log_writer **copy);
/* Adds an event. The caller adds events in the order in which it reads them from the stream. */
PTRC_MUST_CHECK int ptrc_log_copy_take(struct posixtrace_log_writer *c,
				       const struct ptrc_live_event *event);
/* Whether the events added so far are enough for a part (ptrc_log_copy_part()). */
bool ptrc_log_copy_is_large(const struct posixtrace_log_writer *c);
/* Adds the names that are not in the log yet, including those of types without events. */
PTRC_MUST_CHECK int ptrc_log_copy_names(struct posixtrace_log_writer *c);
/* Called at the start of a part: adds a STATUS packet (counts and losses) and, with is_end, an END
 * packet. */
PTRC_MUST_CHECK int ptrc_log_copy_status(struct posixtrace_log_writer *c,
					 const struct posix_trace_status_info *info,
					 const struct ptrc_counts *counts, bool is_end);
/* Makes a part of everything added since the last part. Its bytes are valid until
 * ptrc_log_copy_next_part() starts another part. */
PTRC_MUST_CHECK int ptrc_log_copy_part(struct posixtrace_log_writer *c, const void **bytes,
				       size_t *size);
void ptrc_log_copy_next_part(struct posixtrace_log_writer *c);
void ptrc_log_copy_free(struct posixtrace_log_writer *c);

#endif
