/* SPDX-License-Identifier: MIT */
/* A report for the terminal. */
#ifndef PTRC_SRC_REPORT_TEXT_H
#define PTRC_SRC_REPORT_TEXT_H

#include "src/report/collect.h"

/* Puts a summary, statistics of events and pairs, the longest pairs, the functions with the most samples, and
 * the longest times in which a thread had no event. */
void ptrc_report_put_text(struct ptrc_buffer *, const struct ptrc_report *, bool is_utc);

#endif
