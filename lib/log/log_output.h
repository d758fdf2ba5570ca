/* SPDX-License-Identifier: MIT */
/*
 * Packets, which are made in the buffer w->out, and their way to the log: to a regular file, or
 * to a pipe, socket or device, which takes a stream of bytes.
 */
#ifndef PTRC_LIB_LOG_LOG_OUTPUT_H
#define PTRC_LIB_LOG_LOG_OUTPUT_H

#include <stdint.h>

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* Can fd be the log of a stream with this policy? A regular file can with each policy; a FIFO,
 * socket or character device only with POSIX_TRACE_APPEND. EBADF: not open for writing.
 * EINVAL. */
PTRC_MUST_CHECK int ptrc_log_check(int fd, int log_policy);

/* Empties w->out and leaves room there for the header of a packet. The caller then adds the
 * payload, and calls ptrc_log_packet_end(), which also tells if memory was short meanwhile. */
void ptrc_log_packet_begin(struct ptrc_log_writer *w);
/* Leaves room for the header of one more packet behind what w->out has. */
void ptrc_log_packet_open(struct ptrc_log_writer *w);
/* Pads the last packet in w->out, which begins at offset `start`, and fills in its header. `p` has its
 * type, and of EVENTS what its header says of them. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_packet_end(struct ptrc_log_writer *w, uint64_t start,
					struct ptrc_log_packet p);
/* Adds a whole packet, not of EVENTS, to what w->out holds. ENOMEM. */
PTRC_MUST_CHECK int ptrc_log_packet_put(struct ptrc_log_writer *w, uint16_t type,
					const void *payload, uint64_t bytes);

/* Locks a byte of the log (log_layout.h), by which readers see that a keeper is at work. It is a lock
 * of the process and not of the open file: the application may share the open file, and would keep
 * the lock. */
void ptrc_log_lock(int fd, int64_t byte);

/* Looks whether somebody else has truncated a regular file or written over its end, and notes it
 * in w->state.flags (PTRC_LOG_STATE_CUT). */
void ptrc_log_look(struct ptrc_log_writer *w);

/* The next two write all of w->out, or return the error number of a write. After an error a
 * sequential log in a file is as long as it was. */

/* To this place of a regular file. Other outputs get the bytes behind those that they have. */
PTRC_MUST_CHECK int ptrc_log_write_at(struct ptrc_log_writer *w, uint64_t offset);
/* To the end of a sequential log. */
PTRC_MUST_CHECK int ptrc_log_append(struct ptrc_log_writer *w);

/* Waits until what was written to a regular file is on its disk, and returns the error number if it
 * does not get there. Does nothing with other outputs, nor if the controller does not want it. */
PTRC_MUST_CHECK int ptrc_log_sync(struct ptrc_log_writer *w);

#endif
