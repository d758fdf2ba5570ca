/* SPDX-License-Identifier: MIT */
/* The events of a log shown by several threads. */
#ifndef PTRC_SRC_TEXT_TEXT_THREADS_H
#define PTRC_SRC_TEXT_TEXT_THREADS_H

#include <stdbool.h>

#include "src/text/text.h"

/* Shows, or counts, the events of a log by several threads, in place of ptrc_query_run(). Returns
 * false, without having done anything, if that is of no use here, or if no thread can be started. */
bool ptrc_text_by_threads(struct ptrc_text *);

#endif
