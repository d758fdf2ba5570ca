/* SPDX-License-Identifier: MIT */
/*
 * Packets in a ring: their places, and giving up old packets for new ones. The writer keeps a
 * list of the packets, oldest first, and can read that list from the file again.
 */
#ifndef PTRC_LIB_LOG_LOG_RING_H
#define PTRC_LIB_LOG_LOG_RING_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_output.h"

/* In the first lap: loads into w->out the next packet from *place on that is neither EVENTS nor NAMES,
 * and moves *place, which is 0 at first, behind it. Packets that the log has given up since are still
 * there. False: there is no more. */
PTRC_MUST_CHECK bool ptrc_log_ring_load_aside(struct ptrc_log_writer *w, uint64_t *place);
/* Finds the place of a packet of `size` bytes with `bytes` bytes of events. Gives up the
 * packets that stand there, and the oldest ones until the new one is within the limit. */
uint64_t ptrc_log_ring_place(struct ptrc_log_writer *w, uint64_t size, uint64_t bytes);
/* Writes the packet in w->out to its place. ENOMEM, or the error number of the write. */
PTRC_MUST_CHECK int ptrc_log_ring_write(struct ptrc_log_writer *w, uint64_t place);
/* Counts events that a ring has lost: overwritten, or too old when they came. */
void ptrc_log_ring_note_lost(struct ptrc_log_writer *w, uint64_t events, int64_t first_ns,
			     int64_t last_ns);
/* Gives up all packets. */
void ptrc_log_ring_drop_all(struct ptrc_log_writer *w);
/* Takes back the EVENTS packets from number `seq` on, of a flush that failed. What they have
 * overwritten stays lost. */
void ptrc_log_ring_undo(struct ptrc_log_writer *w, uint64_t seq);
/* For a keeper that goes on for a dead one: reads from the file what is in the ring. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_ring_restore(struct ptrc_log_writer *w);

#endif
