/* SPDX-License-Identifier: MIT */
/* Packets that stay in a log for ever, beside those of its events. */
#ifndef PTRC_LIB_LOG_LOG_ASIDE_H
#define PTRC_LIB_LOG_LOG_ASIDE_H

#include "lib/base/common.h"
#include "lib/log/log_output.h"

/* Writes the packet in w->out to the end of a sequential log, or behind the ring, where nothing is
 * ever overwritten. Returns the error number of the write. */
PTRC_MUST_CHECK int ptrc_log_aside_write(struct ptrc_log_writer *w);

/* Writes a packet of this type that the log can do without. False: there is no room for it, and it
 * may be tried again. If such packets have as much of the log as they may, it is left out; a log
 * whose user wants to know of each process, as they are observed, has as many as there are, unless it is a
 * ring. */
PTRC_MUST_CHECK bool ptrc_log_aside_put(struct ptrc_log_writer *w, uint16_t type,
					const void *payload, uint64_t bytes);

/* At the end of a ring's first lap: writes those packets of it once more behind the ring, as far as
 * that can be done, by means of w->out. */
void ptrc_log_aside_before_wrap(struct ptrc_log_writer *w);

#endif
