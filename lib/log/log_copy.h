/* SPDX-License-Identifier: MIT */
/*
 * A log that is written by a program, of events that it has read elsewhere, and not by a keeper. The
 * writer of the keeper does the work: it gets the events in flushes of some 256 KiB. Or the log is one in
 * memory, part by part, of what a live reader reads from a stream.
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

/* Each returns what the function of a posixtrace_log_writer returns that is called so; ptrc_log_copy_close() is in
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
 * A log in memory, which begins with its head and the names of the stream. Both arguments have to stay,
 * but for copy_status and copy_free. What fails for want of memory fails for ever: ENOMEM.
 */
PTRC_MUST_CHECK int ptrc_log_copy_begin(const struct ptrc_stream_header *stream,
					const struct ptrc_names_object *names,
					struct posixtrace_log_writer **copy);
/* Adds an event, in the order of reading. */
PTRC_MUST_CHECK int ptrc_log_copy_take(struct posixtrace_log_writer *c,
				       const struct ptrc_live_event *event);
/* Is what was added enough for a part? */
bool ptrc_log_copy_is_large(const struct posixtrace_log_writer *c);
/* Adds STATUS, and with is_end END. Events that were added before the last part was made precede it. */
PTRC_MUST_CHECK int ptrc_log_copy_status(struct posixtrace_log_writer *c,
					 const struct posix_trace_status_info *info,
					 const struct ptrc_counts *counts, bool is_end);
/* Makes a part of everything that was added, which is valid until ptrc_log_copy_next_part() begins
 * another one. */
PTRC_MUST_CHECK int ptrc_log_copy_part(struct posixtrace_log_writer *c, const void **bytes,
				       size_t *size);
void ptrc_log_copy_next_part(struct posixtrace_log_writer *c);
void ptrc_log_copy_free(struct posixtrace_log_writer *c);

#endif
