/* SPDX-License-Identifier: MIT */
/* The machine on which a log is written, in a HOST packet, and its clocks, in CLOCK packets.
 * Freestanding. */
#ifndef PTRC_LIB_LOG_LOG_HOST_H
#define PTRC_LIB_LOG_LOG_HOST_H

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* Writes the packet. A log that has no room for it goes without. */
void ptrc_log_host_write(struct ptrc_log_writer *w);

/* When to write a CLOCK packet: at the begin and the end of a log; or if the last one is a second old,
 * and has become wrong or is older than a part of the log's age. So their number stays small. */
enum ptrc_log_clock_when { PTRC_LOG_CLOCK_NOW, PTRC_LOG_CLOCK_IF_DUE };
void ptrc_log_clock_write(struct ptrc_log_writer *w, enum ptrc_log_clock_when when);

#endif
