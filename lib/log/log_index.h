/* SPDX-License-Identifier: MIT */
/*
 * The index of a sequential log in a regular file: where its packets are, and what EVENTS packets
 * hold. It goes into the log in pieces, so that the keeper's memory does not grow with the log, and
 * is complete when the log is closed. A reader then opens the log by the index, and need not look
 * at the packets themselves. The index only saves time: without it, or if a byte of it is damaged,
 * a reader goes over the headers of all packets.
 */
#ifndef PTRC_LIB_LOG_LOG_INDEX_H
#define PTRC_LIB_LOG_LOG_INDEX_H

#include "lib/base/common.h"
#include "lib/log/log_state.h"

/* Begins the index of an empty log. is_lost: the log is not empty, and what an earlier keeper knew
 * of it is gone, so it gets no index. */
void ptrc_log_index_begin(struct ptrc_log_writer *w, bool is_lost);
void ptrc_log_index_free(struct ptrc_log_index *x);

/* Notes the packet in w->out, which was written to the end of the log. */
void ptrc_log_index_note(struct ptrc_log_writer *w);
/* Notes the filter in w->state, which is in force from now on. */
void ptrc_log_index_note_filter(struct ptrc_log_writer *w);
/* The packets that a flush has noted stay in the log. */
void ptrc_log_index_keep(struct ptrc_log_writer *w);
/* Forgets the packets from `offset` on: the flush that wrote them has failed. */
void ptrc_log_index_forget(struct ptrc_log_writer *w, uint64_t offset);

/* Called between two flushes: writes a piece of the index if many packets wait for that. If it
 * cannot be written now, they go on waiting. */
void ptrc_log_index_write(struct ptrc_log_writer *w);
/* Adds to w->out, which goes to the end of the log, the rest of the index, and TOTALS. Returns the
 * offset of the last INDEX packet, or 0 if there is no index. */
PTRC_MUST_CHECK uint64_t ptrc_log_index_end(struct ptrc_log_writer *w);

#endif
