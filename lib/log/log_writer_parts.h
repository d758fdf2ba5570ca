/* SPDX-License-Identifier: MIT */
/*
 * What the files of the log writer have of each other: log_output.c (the device),
 * log_writer.c (packets, names, head and end), log_ring.c (places in a ring),
 * log_events.c (events in packets). Nobody else needs this.
 */
#ifndef PTRC_LIB_LOG_LOG_WRITER_PARTS_H
#define PTRC_LIB_LOG_LOG_WRITER_PARTS_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_writer.h"

/* The automatic STOP of a full log: header and an int. */
#define PTRC_LOG_STOP_BYTES UINT64_C(24)

/* What the header of a packet says beside its size. */
struct ptrc_log_facts {
	uint16_t type, flags;
	uint64_t bytes; /* of events */
	int64_t first_ns, last_ns;
	uint64_t events;
};

/* ---- log_output.c ---- */

/* Writes all of it; `offset` means something for regular files only. *done: how much
 * reached the output, also on error. */
PTRC_NONNULL()
PTRC_MUST_CHECK
int ptrc_log_write_at(struct ptrc_log_writer *w, uint64_t offset, const uint8_t *bytes,
		      uint64_t count, uint64_t *done);
/* At the end of a sequential log. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_append(struct ptrc_log_writer *w, const uint8_t *bytes,
				    uint64_t count);

/* ---- log_writer.c ---- */

/* A packet in w->out: begin, add the payload there, end. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_packet_begin(struct ptrc_log_writer *w);
/* Fills in the header of the packet that began at offset `start`, and pads it. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_packet_end(struct ptrc_log_writer *w, uint64_t start,
					const struct ptrc_log_facts *p);
PTRC_NONNULL() void ptrc_log_note_loss(struct ptrc_log_writer *w);
/* The first lap of a ring ends, and with it the names that stand between its events:
 * write them where they stay. Leaves w->out as it is. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_names_before_wrap(struct ptrc_log_writer *w);

/* ---- log_ring.c ---- */

/* Place of a packet of `size` bytes with so many bytes of events; gives up what is there
 * and what the limit does not allow beside it. */
PTRC_NONNULL()
uint64_t ptrc_log_ring_place(struct ptrc_log_writer *w, uint64_t size, uint64_t bytes);
/* Write the packet in w->out there. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_ring_write(struct ptrc_log_writer *w, uint64_t place,
					const struct ptrc_log_facts *p);
/* Events that are lost in a ring: overwritten, or too old when they came. */
PTRC_NONNULL()
void ptrc_log_note_overwritten(struct ptrc_log_writer *w, uint64_t events,
			       int64_t first_ns, int64_t last_ns);
/* Give up all packets. */
PTRC_NONNULL() void ptrc_log_ring_drop_all(struct ptrc_log_writer *w);
/* Take back packets from number seq on, of a flush that failed. What they overwrote stays
 * lost. */
PTRC_NONNULL() void ptrc_log_ring_undo(struct ptrc_log_writer *w, uint64_t seq);
/* For a new writer: what is in the ring, from the file itself. */
PTRC_NONNULL() PTRC_MUST_CHECK int ptrc_log_ring_restore(struct ptrc_log_writer *w);

/* ---- log_events.c ---- */

/* The EVENTS packet in w->out of a sequential log. */
PTRC_NONNULL()
PTRC_MUST_CHECK int ptrc_log_write_events(struct ptrc_log_writer *w,
					  const struct ptrc_log_facts *p);

#endif
