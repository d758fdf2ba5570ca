/* SPDX-License-Identifier: MIT */
/* The files of a rotated log (log_rotate.c), found by the path of the first one. */
#ifndef PTRC_LIB_LOG_LOG_FAMILY_H
#define PTRC_LIB_LOG_LOG_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/common.h"

/*
 * Opens the log at this path. If that is the path of the first file of a rotated log (which need
 * not exist any more), opens all files, and stores their descriptors from the first to the last.
 * The caller closes these with ptrc_log_family_close(). *is_whole becomes true if *fds has all
 * existing files of a rotated log. It also becomes true for a log of salvaged events that could not
 * be added to the stream's own log: its head counts that log as an earlier file. EINVAL: no log.
 * EPROTO: a file has a version that this library does not know. ENOMEM, or an error of open().
 */
PTRC_MUST_CHECK int ptrc_log_family_open(const char *path, int **fds, size_t *count,
					 bool *is_whole);
void ptrc_log_family_close(int *fds, size_t count);

/* Whether the rotated log with this identifier, whose first file has the path, goes on in a file
 * with a greater number. An empty file counts, too: the keeper has just begun it. */
bool ptrc_log_family_goes_on(const char *path, uint64_t log, uint64_t number);

#endif
