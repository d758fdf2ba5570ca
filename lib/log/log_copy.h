/* SPDX-License-Identifier: MIT */
/*
 * A log that is written by a program, of events that it has read elsewhere, and not by a keeper. The
 * writer of the keeper does the work: it gets the events in flushes of some 256 KiB.
 */
#ifndef PTRC_LIB_LOG_LOG_COPY_H
#define PTRC_LIB_LOG_LOG_COPY_H

#include <posixtrace.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/common.h"

/* Each returns what the public function of the same name returns (posixtrace.h). */
PTRC_NONNULL(2, 4)
PTRC_MUST_CHECK
int ptrc_log_copy_create(int fd, const trace_attr_t *attr, const struct timespec *created,
			 struct posixtrace_log **copy);
PTRC_NONNULL()
PTRC_MUST_CHECK
int ptrc_log_copy_type(struct posixtrace_log *c, const char *name, trace_event_id_t *id);
PTRC_NONNULL()
PTRC_MUST_CHECK
int ptrc_log_copy_add(struct posixtrace_log *c, const struct posixtrace_event *event);
PTRC_NONNULL(1)
PTRC_MUST_CHECK
int ptrc_log_copy_close(struct posixtrace_log *c, const struct posixtrace_counts *lost);

#endif
