/* SPDX-License-Identifier: MIT */
/*
 * Where the events of an orphan go. That is the orphan's own log, wherever it is now: at its path,
 * under another name in the same directory, or open in some process. If it is nowhere, or cannot be
 * opened, it is a new file beside the old path, `NAME.salvaged`, or at a path that the caller
 * gives. No file is ever replaced: if there is one of that name, a number is added to it.
 *
 * Any process of the user can write what the header says, and the caller may be root. So a log must
 * be a regular file of that user, the very file that the keeper had, and the log of this very
 * stream; and a new file is made by the user himself only.
 */
#ifndef PTRC_LIB_KEEPER_ORPHAN_LOG_H
#define PTRC_LIB_KEEPER_ORPHAN_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/common.h"
#include "lib/stream/stream_layout.h"

struct ptrc_keeper_orders {
	/* The new log, if one is needed. Null: beside the old path. */
	const char *path;
	/* The file that the caller is about to empty for a log of its own; ino 0: none. It counts
	 * as gone. */
	uint64_t taken_dev, taken_ino;
	/* Look for the log among the descriptors of all processes. */
	bool searches;
	/* sizeof(((struct ptrc_log_place *)0)->path) bytes for the path of the log that was
	 * written, or null. */
	char *written;
};

struct ptrc_orphan_log {
	int fd;
	int dirfd; /* for a new log: where it was made, and its name there */
	char name[256];
};

/* Opens the orphan's own log. ENOENT: it is nowhere; EACCES, EROFS and so on. */
PTRC_MUST_CHECK int ptrc_orphan_log_find(const struct ptrc_stream_header *h, uint32_t uid,
					 const struct ptrc_keeper_orders *orders,
					 struct ptrc_orphan_log *log);
/* Makes a new, empty log. ENOENT: no directory, or no path is known; EACCES, EROFS, ENOSPC and so
 * on; EPERM: the stream belongs to another user. */
PTRC_MUST_CHECK int ptrc_orphan_log_make(const struct ptrc_stream_header *h, uint32_t uid,
					 const struct ptrc_keeper_orders *orders,
					 struct ptrc_orphan_log *log);
/* Closes the log. Unless it is to be kept, removes it if it was made, and if no keeper has begun it:
 * else a later attempt goes on with it. */
void ptrc_orphan_log_close(const struct ptrc_stream_header *h, struct ptrc_orphan_log *log,
			   bool is_kept);

#endif
