/* SPDX-License-Identifier: MIT */
/*
 * The events of a flush, in EVENTS packets. A flush calls begin, then add for each stretch,
 * then end. Add copies the stretch; end writes the events in time order over all stretches, a
 * packet for each slice of time. So what a bounded log keeps is a span of time without holes,
 * and a log that is cut short lacks nothing before its end.
 */
#ifndef PTRC_LIB_LOG_LOG_EVENTS_H
#define PTRC_LIB_LOG_LOG_EVENTS_H

#include "lib/base/common.h"
#include "lib/log/log_output.h"
#include "lib/stream/drain.h"

/* The STOP with which a full log ends: the head of a record, and an int. */
#define PTRC_LOG_STOP_BYTES UINT64_C(24)

PTRC_NONNULL() void ptrc_log_events_begin(struct ptrc_log_writer *w);
/* ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK
int ptrc_log_events_add(struct ptrc_log_writer *w, const struct ptrc_stretch *stretch);
/* ENOMEM, or the error number of a write: then the next flush must bring the same events
 * again. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_events_end(struct ptrc_log_writer *w);

/* Ends the EVENTS packet in w->out and writes it. ENOMEM, or the error number of the write. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_events_write(struct ptrc_log_writer *w,
					  const struct ptrc_log_facts *p);

#endif
