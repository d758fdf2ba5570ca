/* SPDX-License-Identifier: MIT */
/*
 * A log that a program writes, and not a keeper. It works by means of the keeper's writer, which
 * gets the events in flushes of some 256 KiB. Either the events come from another source and go
 * into a file; or a live reader reads them from a stream, and the log is made in memory, part by
 * part.
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

/* These implement the functions of posixtrace_log_writer of the same names, and
 * ptrc_log_copy_close() of posixtrace-private.h. */
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
 * A log in memory, which begins with its head and the names of the stream. Both arguments stay
 * valid, except for copy_status and copy_free. After ENOMEM all later calls fail with ENOMEM.
 */
PTRC_MUST_CHECK int ptrc_log_copy_begin(const struct ptrc_stream_header *stream,
					const struct ptrc_names_object *names,
					struct posixtrace_log_writer **copy);
/* Adds an event, in the order of reading. */
PTRC_MUST_CHECK int ptrc_log_copy_take(struct posixtrace_log_writer *c,
				       const struct ptrc_live_event *event);
/* Whether enough was added for a part. */
bool ptrc_log_copy_is_large(const struct posixtrace_log_writer *c);
/* Adds STATUS, and with is_end END. Events that were added before the last part was made precede
 * it. */
PTRC_MUST_CHECK int ptrc_log_copy_status(struct posixtrace_log_writer *c,
					 const struct posix_trace_status_info *info,
					 const struct ptrc_counts *counts, bool is_end);
/* Makes a part of everything added; it is valid until ptrc_log_copy_next_part() starts another
 * one. */
PTRC_MUST_CHECK int ptrc_log_copy_part(struct posixtrace_log_writer *c, const void **bytes,
				       size_t *size);
void ptrc_log_copy_next_part(struct posixtrace_log_writer *c);
void ptrc_log_copy_free(struct posixtrace_log_writer *c);

#endif
