/* SPDX-License-Identifier: MIT */
/* The processes and threads of lanes, as far as the logs know them. */
#ifndef PTRC_SRC_REPORT_WHOSE_H
#define PTRC_SRC_REPORT_WHOSE_H

#include "src/report/collect.h"

/* Stores the process of the lane at its last event. Returns false if it is unknown. */
bool ptrc_report_process(const struct ptrc_report_lane *, unsigned long *index,
			 struct posixtrace_log_process *);

/* Stores the thread of the lane at its last event. Returns false if it has no name. */
bool ptrc_report_thread(const struct ptrc_report_lane *, struct posixtrace_log_thread *);

/* Puts "process 7 name, thread 8 name". */
void ptrc_report_put_lane(struct ptrc_buffer *, const struct ptrc_report_lane *);

#endif
