/* SPDX-License-Identifier: MIT */
/* An orphan: a stream with a log whose controller and keeper are both dead. */
#ifndef PTRC_LIB_KEEPER_KEEPER_ORPHAN_H
#define PTRC_LIB_KEEPER_KEEPER_ORPHAN_H

#include <stdint.h>

#include "lib/base/common.h"

/* Starts a keeper that writes what the orphan holds into its log and closes that, and
 * waits for it. The caller holds byte PTRC_LIVE_CLEANER of the stream object, which stream_fd
 * is open on, in the directory dirfd of user `uid`.
 *   0       the log is closed, or can never be: the caller removes the stream.
 *   EAGAIN  what is wanting may be there another time or in another process (room,
 *           memory, descriptors, processes, leave to make so large a file): stream and
 *           log are as they were, and the caller leaves them to the next. */
PTRC_MUST_CHECK int ptrc_keeper_finish_orphan(int dirfd, uint32_t uid, int stream_fd);

#endif
