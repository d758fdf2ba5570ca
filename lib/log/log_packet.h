/* SPDX-License-Identifier: MIT */
/* Packets, made in the buffer `out` of the writer: begin, add the payload there, end. */
#ifndef PTRC_LIB_LOG_LOG_PACKET_H
#define PTRC_LIB_LOG_LOG_PACKET_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* What the header of a packet tells of its payload, and the writer needs to place it. */
struct ptrc_log_facts {
	uint16_t type, flags;
	uint64_t bytes; /* of events */
	int64_t first_ns, last_ns;
	uint64_t events; /* that are reported */
};

/* Empties the buffer and leaves room for a packet's header. ENOMEM. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_packet_begin(struct ptrc_log_writer *w);
/* Leaves room for the header of one more packet behind what the buffer holds. ENOMEM. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_packet_add(struct ptrc_log_writer *w);
/* Fills in the header of the last packet of the buffer, which begins at offset `start`,
 * and pads the packet. ENOMEM. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_packet_end(struct ptrc_log_writer *w, uint64_t start,
					const struct ptrc_log_facts *p);

#endif
