/* SPDX-License-Identifier: MIT */
/*
 * The words of the header for the state of a stream: the control word, which writers compare before
 * they record; the status word, which posix_trace_get_status() reports; and the cut, the moment at
 * which a run stopped because the stream was full. Each change is one atomic operation on one word,
 * because writers, controller and keeper change them concurrently.
 */
#ifndef PTRC_LIB_STREAM_STATUS_H
#define PTRC_LIB_STREAM_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/stream/stream_layout.h"

/* Changes bits of the control word. The word gets a new serial even if no bit changes, so that
 * every writer looks at the state again before it records its next event. */
void ptrc_control_change(struct ptrc_stream_header *h, uint64_t clear, uint64_t set);

void ptrc_status_set(struct ptrc_stream_header *h, uint64_t bits);
void ptrc_status_clear(struct ptrc_stream_header *h, uint64_t bits);
/* Clears some bits and sets others, in one step. */
void ptrc_status_change(struct ptrc_stream_header *h, uint64_t clear, uint64_t set);
/* Stores in the status that the run with this number has stopped because the stream was full. Does
 * nothing if the status says so already, or if another run has started since. Only the low byte of
 * the number is compared. */
void ptrc_status_auto_stopped(struct ptrc_stream_header *h, uint64_t run);
/* Stores the error number of a flush in the status. If the status has an earlier error that
 * posix_trace_get_status() has not reported yet, that error stays. */
void ptrc_status_error(struct ptrc_stream_header *h, int error);

/* The low byte of the number of the run, from a status word. */
static inline uint64_t ptrc_status_run(uint64_t status)
{
	return (status & PTRC_ST_RUN_MASK) >> PTRC_ST_RUN_SHIFT;
}

/* Converts a status word to the structure of <trace.h>. */
struct posix_trace_status_info;
void ptrc_status_export(uint64_t bits, struct posix_trace_status_info *st);

/* Counts lost events, and stores in the status that events were lost. */
void ptrc_status_count_losses(struct ptrc_stream_header *h, uint64_t events);
/* Counts an event that was lost because there was no room. */
static inline void ptrc_status_count_loss(struct ptrc_stream_header *h)
{
	ptrc_status_count_losses(h, 1);
}

/* Whether the current run has stopped because the stream was full. Events from stamp *cut on do
 * not belong to the run. */
bool ptrc_stream_cut(const struct ptrc_stream_header *h, uint64_t *cut);

/* Wakes every reader that waits for an event or a change of state. */
void ptrc_stream_wake_readers(struct ptrc_stream_header *h);
/* Wakes every writer that sleeps until there is room, so that it looks for room again. */
void ptrc_stream_wake_writers(struct ptrc_stream_header *h);
/* Wakes the keeper; `why` is one of PTRC_WAKE_*. If the keeper was woken before and has not looked
 * at the reasons since, only adds the reason. */
void ptrc_ring_keeper(struct ptrc_stream_header *h, uint32_t why);
/* A number that identifies a program among the programs that a process executes. It is made from the
 * address after the program's arguments and environment, which the kernel chooses at random at each
 * exec. 0: unknown. */
static inline uint32_t ptrc_image_of(uint64_t arguments_end)
{
	return (uint32_t)(arguments_end >> 12) ^ (uint32_t)(arguments_end << 20);
}
/* Announces to the keeper, if there is one, that the process `pid`, which executes the program
 * `image`, is about to record. */
void ptrc_announce(struct ptrc_stream_header *h, int pid, uint32_t image);
/* Announces to the keeper that another thread of an announced process records. The keeper then
 * looks up the names of threads. */
void ptrc_announce_thread(struct ptrc_stream_header *h);
/* Whether the process was announced and the keeper has not looked at it yet. */
bool ptrc_is_announced(const struct ptrc_stream_header *h, int pid);

#endif
