/* SPDX-License-Identifier: MIT */
/* Whose the processes were that could not be traced and did not know by which streams. */
#ifndef PTRC_LIB_PROCESS_CLAIM_H
#define PTRC_LIB_PROCESS_CLAIM_H

#include "lib/base/common.h"
#include "lib/process/page.h"
#include "lib/stream/stream_layout.h"

/* Looks for processes that left word that they could not be traced (lib/stream/untraced.h), and
 * leaves the same word for this stream if it should have traced them: they are its target or, if
 * the stream is INHERITED, descend from a process that it traces. A process that could not find
 * out its ancestors counts for every INHERITED stream: it is better to tell of it once too often
 * than not at all. `place` is the directory; its pid does not matter. */
PTRC_NONNULL()
void ptrc_claim_untraced(const struct ptrc_page_place *place, const struct ptrc_stream_header *h);

#endif
