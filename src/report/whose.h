/* SPDX-License-Identifier: MIT */
/* The process and the thread of a lane (one thread's row in the report), as far as the log knows them. */
#ifndef PTRC_SRC_REPORT_WHOSE_H
#define PTRC_SRC_REPORT_WHOSE_H

#include "src/report/collect.h"

/* Stores the process to which the lane belonged when it recorded its last event, and the index of this
 * process in the log. Returns false if the process is unknown. */
bool ptrc_report_process(const struct ptrc_report_lane *, unsigned long *index,
			 struct posixtrace_log_process *);

/* Stores the thread that recorded the last event of the lane; a later thread may have the number of an earlier one.
 * Returns false if this thread has no name. */
bool ptrc_report_thread(const struct ptrc_report_lane *, struct posixtrace_log_thread *);

/* Puts a text such as "process 7 name, thread 8 name". */
void ptrc_report_put_lane(struct ptrc_buffer *, const struct ptrc_report_lane *);

#endif
