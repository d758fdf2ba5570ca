/* SPDX-License-Identifier: MIT */
/* The files of a log that is rotated (log_rotate.c), found by the path of the first one. */
#ifndef PTRC_LIB_LOG_LOG_FAMILY_H
#define PTRC_LIB_LOG_LOG_FAMILY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/common.h"

/*
 * Opens the log at this path. If the path is that of the first member of a log that is rotated, which
 * need not be there any more, opens all members, and stores them from the first to the last; otherwise
 * the file alone. The caller closes them with ptrc_log_family_close(). *is_whole: they are all there
 * are of a log that is rotated.
 *   EINVAL  no log
 *   ENOMEM, or an error of open(): then the file, or a member, cannot be opened.
 */
PTRC_MUST_CHECK int ptrc_log_family_open(const char *path, int **fds, size_t *count,
					 bool *is_whole);
void ptrc_log_family_close(int *fds, size_t count);

#endif
