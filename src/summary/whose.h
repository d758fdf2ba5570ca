/* SPDX-License-Identifier: MIT */
/* Prints what a log says about the machine on which it was written, and about the processes and threads that
 * recorded into it. */
#ifndef PTRC_SRC_SUMMARY_WHOSE_H
#define PTRC_SRC_SUMMARY_WHOSE_H

#include <stdbool.h>
#include <trace.h>

#include "src/base/buffer.h"
#include "src/base/json.h"

/* Append parts of the output of ptrace-stat: the label of a line, or a line with a text, a number or a time. */
void ptrc_stat_put_label(struct ptrc_buffer *, const char *label);
void ptrc_stat_put_line(struct ptrc_buffer *, const char *label, const char *text, size_t size);
void ptrc_stat_put_number(struct ptrc_buffer *, const char *label, int64_t);
void ptrc_stat_put_time(struct ptrc_buffer *, const char *label, const struct timespec *,
			bool is_utc);

/* Append lines of text with what the log has about the machine, the clock (the last reading in the log), and the
 * processes and threads. */
void ptrc_whose_put_host_text(struct ptrc_buffer *, trace_id_t log);
void ptrc_whose_put_clock_text(struct ptrc_buffer *, trace_id_t log);
void ptrc_whose_put_processes_text(struct ptrc_buffer *, trace_id_t log, bool is_utc);
/* Puts the JSON members host, processes, threads and clocks. */
void ptrc_whose_put_json(struct ptrc_json *, trace_id_t log);

#endif
