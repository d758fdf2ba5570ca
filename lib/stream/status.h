/* SPDX-License-Identifier: MIT */
/*
 * The words of the header that say what state a stream is in: the control word, which writers
 * compare before they record; the status word, which posix_trace_get_status tells; and the cut.
 * Each change is one atomic step on one word, because writers, controller and keeper change them
 * at the same time.
 */
#ifndef PTRC_LIB_STREAM_STATUS_H
#define PTRC_LIB_STREAM_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* Change bits of the control word. The word gets a new serial even if no bit changes, so that
 * every writer looks at the state again before it records its next event. */
void ptrc_control_change(struct ptrc_stream_header *h, uint64_t clear, uint64_t set);

void ptrc_status_set(struct ptrc_stream_header *h, uint64_t bits);
void ptrc_status_clear(struct ptrc_stream_header *h, uint64_t bits);
/* Clear some bits and set others in one step: nobody sees a status in between. */
void ptrc_status_change(struct ptrc_stream_header *h, uint64_t clear, uint64_t set);
/* The run with this number has stopped for want of room. Does nothing if the status says so
 * already, or if another run has begun since. Only the low byte of the number counts. */
void ptrc_status_auto_stopped(struct ptrc_stream_header *h, uint64_t run);
/* Note the error number of a flush. An earlier one stays until posix_trace_get_status has told
 * it. */
void ptrc_status_error(struct ptrc_stream_header *h, int error);

/* The low byte of the number of the run to which a status word belongs. */
static inline uint64_t ptrc_status_run(uint64_t status)
{
	return (status & PTRC_ST_RUN_MASK) >> PTRC_ST_RUN_SHIFT;
}

/* What a status word says to the application. */
struct posix_trace_status_info;
void ptrc_status_export(uint64_t bits, struct posix_trace_status_info *st);

/* Count an event that was lost because it found no room. */
void ptrc_status_count_loss(struct ptrc_stream_header *h);
void ptrc_status_count_losses(struct ptrc_stream_header *h, uint64_t count);

/* True if the current run was stopped for want of room; *cut is the stamp from which on nothing
 * belongs to it. */
bool ptrc_stream_cut(const struct ptrc_stream_header *h, uint64_t *cut);

/* Wake every reader that waits for an event or for a change of state. */
void ptrc_stream_wake_readers(struct ptrc_stream_header *h);
/* Wake every writer that sleeps until there is room: it looks again. */
void ptrc_stream_wake_writers(struct ptrc_stream_header *h);
/* Wake the keeper, for one of the reasons PTRC_WAKE_. Does no more than note the reason if the
 * keeper was woken by this function before and has not looked since. */
void ptrc_ring_keeper(struct ptrc_stream_header *h, uint32_t why);
/* Tell the keeper, if there is one, that a process is about to record. */
void ptrc_announce(struct ptrc_stream_header *h, int pid);
/* The same of another thread of a process that the keeper was told of: it looks at its name. */
void ptrc_announce_thread(struct ptrc_stream_header *h);
/* Has the keeper still to look at this process? */
bool ptrc_is_announced(const struct ptrc_stream_header *h, int pid);

#endif
