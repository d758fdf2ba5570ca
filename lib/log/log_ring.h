/* SPDX-License-Identifier: MIT */
/*
 * Places of packets. In a ring new packets take the places of old ones: the writer keeps a list of the packets,
 * oldest first, and can read that list from the file again. Packets beside the events stay in a log for ever.
 */
#ifndef PTRC_LIB_LOG_LOG_RING_H
#define PTRC_LIB_LOG_LOG_RING_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_output.h"

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
