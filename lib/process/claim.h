/* SPDX-License-Identifier: MIT */
/* Finds the streams that should have traced a process that could not be traced. */
#ifndef PTRC_LIB_PROCESS_CLAIM_H
#define PTRC_LIB_PROCESS_CLAIM_H

#include "lib/base/common.h"
#include "lib/process/page.h"
#include "lib/stream/stream_layout.h"

/* A process that could not be traced, and did not know which streams should trace it, has left a note
 * (lib/stream/untraced.h). Copies each note for this stream if the stream should have traced the process: the
 * process is the stream's target or, for an INHERITED stream, a descendant of a process that the stream traces. A
 * process that could not find out its ancestors is counted for every INHERITED stream, because it is better to
 * report it twice than not at all. `place` is the directory; its pid is not used. */
PTRC_NONNULL()
void ptrc_claim_untraced(const struct ptrc_page_place *place, const struct ptrc_stream_header *h);

#endif
