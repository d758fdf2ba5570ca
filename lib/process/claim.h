/* SPDX-License-Identifier: MIT */
/* Finds the processes that a stream should have traced but that could not be traced. */
#ifndef PTRC_LIB_PROCESS_CLAIM_H
#define PTRC_LIB_PROCESS_CLAIM_H

#include "lib/base/common.h"
#include "lib/process/page.h"
#include "lib/stream/stream_layout.h"

/* A process that could not be traced, and did not know which streams should trace it, leaves a note
 * without a stream (lib/stream/untraced.h). For each such note that is younger than the stream with
 * header `h`, this makes a second note, with that stream, or a mark in the stream, if the stream
 * should have traced the process: the process is the stream's target or, for an INHERITED stream, a
 * descendant of a process that the stream traces. A process that could not find out all its
 * ancestors is counted for every INHERITED stream, because it is better to report it twice than not
 * at all. `place` is the directory of the notes; its pid is not used. */
PTRC_NONNULL()
void ptrc_claim_untraced(const struct ptrc_page_place *place, struct ptrc_stream_header *h);

#endif
