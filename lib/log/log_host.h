/* SPDX-License-Identifier: MIT */
/* The machine on which a log is written, in a HOST packet. Freestanding. */
#ifndef PTRC_LIB_LOG_LOG_HOST_H
#define PTRC_LIB_LOG_LOG_HOST_H

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* Writes the packet. A log that has no room for it goes without. */
PTRC_NONNULL() void ptrc_log_host_write(struct ptrc_log_writer *w);

#endif
