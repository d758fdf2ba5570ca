/* SPDX-License-Identifier: MIT */
/* Whose lanes are: what the logs tell of their processes and threads. */
#ifndef PTRC_SRC_REPORT_WHOSE_H
#define PTRC_SRC_REPORT_WHOSE_H

#include "src/report/collect.h"

/* The process of the lane at its last event. Returns false if the log does not tell. */
bool ptrc_report_process(const struct ptrc_report_lane *, unsigned long *index,
			 struct posixtrace_log_process *);

/* The name of the lane's thread at its last event. Returns false if the log does not tell one. */
bool ptrc_report_thread(const struct ptrc_report_lane *, struct posixtrace_log_thread *);

/* Puts the lane for people: process 7 name, thread 8 name. */
void ptrc_report_put_lane(struct ptrc_buffer *, const struct ptrc_report_lane *);

#endif
