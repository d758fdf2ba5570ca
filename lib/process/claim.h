/* SPDX-License-Identifier: MIT */
/* Finds the streams that should have traced processes which could not be traced. */
#ifndef PTRC_LIB_PROCESS_CLAIM_H
#define PTRC_LIB_PROCESS_CLAIM_H

#include "lib/base/common.h"
#include "lib/process/page.h"
#include "lib/stream/stream_layout.h"

/* Processes that could not be traced, and did not know by which streams, have left notes
 * (lib/stream/untraced.h). Copies each note for this stream if it should have traced the process:
 * if the process is its target or, for an INHERITED stream, a descendant of a process that it
 * traces. A process that could not find out its ancestors counts for every INHERITED stream,
 * because reporting it twice is better than not at all. `place` is the directory; its pid does
 * not matter. */
PTRC_NONNULL()
void ptrc_claim_untraced(const struct ptrc_page_place *place, const struct ptrc_stream_header *h);

#endif
