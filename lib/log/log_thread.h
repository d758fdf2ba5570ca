/* SPDX-License-Identifier: MIT */
/*
 * The names of the threads that record into a log, in THREADS packets. The keeper finds the threads in the
 * slots of the stream, and reads their names from /proc when it sees them first, and then once a second
 * at most. A thread that ended before has no name. Nothing of this makes a flush fail, and nothing of it
 * is done for each event. Freestanding.
 */
#ifndef PTRC_LIB_LOG_LOG_THREAD_H
#define PTRC_LIB_LOG_LOG_THREAD_H

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* The log is empty and knows no thread. */
void ptrc_log_threads_begin(struct ptrc_log_writer *w);
void ptrc_log_threads_free(struct ptrc_log_threads *t);

/* Looks at the threads, unless it has done so a moment ago; is_last: in any case. */
void ptrc_log_threads_look(struct ptrc_log_writer *w, bool is_last);
/* The same, and writes what is new. */
void ptrc_log_threads_write(struct ptrc_log_writer *w);

#endif
