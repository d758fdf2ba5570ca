/* SPDX-License-Identifier: MIT */
/*
 * The events of a flush, in EVENTS packets. A flush calls begin, then add for each stretch, then
 * end. Add keeps the packed stretch; end writes a packet for each slice of time. So what a bounded
 * log keeps is a span of time without holes, and a log that is cut short lacks nothing before its
 * end.
 */
#ifndef PTRC_LIB_LOG_LOG_EVENTS_H
#define PTRC_LIB_LOG_LOG_EVENTS_H

#include "lib/base/common.h"
#include "lib/log/log_output.h"
#include "lib/stream/drain.h"

/* What log-max-size counts for the STOP with which a full log ends: its data are an int. */
#define PTRC_LOG_STOP_BYTES UINT64_C(12)

/* A stretch should have no more than so many bytes, as splitting a larger one would take long. */
#define PTRC_LOG_STRETCH_MAX (PTRC_LOG_PACKET_BYTES / 4)

void ptrc_log_events_begin(struct ptrc_log_writer *w);
/* ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_events_add(struct ptrc_log_writer *w,
					const struct ptrc_stretch *stretch);
/* ENOMEM, or the error number of a write: then the next flush must bring the same events
 * again. */
PTRC_MUST_CHECK int ptrc_log_events_end(struct ptrc_log_writer *w);

/* Writes an EVENTS packet with a single event of the trace system. ENOMEM, or the error number of
 * the write. */
PTRC_MUST_CHECK int ptrc_log_events_write_single(struct ptrc_log_writer *w, int64_t ns,
						 uint32_t order, uint32_t id_flags,
						 const void *data, uint32_t len);

#endif
