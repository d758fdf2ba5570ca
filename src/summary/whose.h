/* SPDX-License-Identifier: MIT */
/* On which machine a log was written, and what is known of the processes that recorded into it. */
#ifndef PTRC_SRC_SUMMARY_WHOSE_H
#define PTRC_SRC_SUMMARY_WHOSE_H

#include <stdbool.h>
#include <trace.h>

#include "src/base/buffer.h"
#include "src/base/json.h"

/* Put the label of a line, and a whole line, of what ptrace-stat shows. */
void ptrc_stat_put_label(struct ptrc_buffer *, const char *label);
void ptrc_stat_put_line(struct ptrc_buffer *, const char *label, const char *text, size_t size);
void ptrc_stat_put_number(struct ptrc_buffer *, const char *label, int64_t);
void ptrc_stat_put_time(struct ptrc_buffer *, const char *label, const struct timespec *,
			bool is_utc);

/* Put nothing of what the log does not tell. */
void ptrc_whose_put_host_text(struct ptrc_buffer *, trace_id_t log);
/* How well the clock of the machine was set, at the end. */
void ptrc_whose_put_clock_text(struct ptrc_buffer *, trace_id_t log);
void ptrc_whose_put_processes_text(struct ptrc_buffer *, trace_id_t log, bool is_utc);
/* Put the members host, processes and clocks. */
void ptrc_whose_put_json(struct ptrc_json *, trace_id_t log);

#endif
