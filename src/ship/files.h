/* SPDX-License-Identifier: MIT */
/* Files of logs: which ones can be sent, and how old they are, without reading their events. */
#ifndef PTRC_SRC_SHIP_FILES_H
#define PTRC_SRC_SHIP_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Whether the file is a log, or a file of a rotated one. Stores its stat data if it could be opened. */
bool ptrc_ship_is_log(const char *path, struct stat *);

/* Returns the path of the log that the file belongs to, which the caller frees: for a later file of a
 * rotated log the path of the first one. */
char *ptrc_ship_log_of(const char *path) __attribute__((returns_nonnull));

/* Whether the path is that of a log that can be sent. Returns false after a message. */
bool ptrc_ship_look_at(const char *path);

/* Nanoseconds since any file of the log was last written; 0 if that is not known, because a clock was set
 * back. The path is that of the log's first file. */
int64_t ptrc_ship_age_ns(const char *path);

#endif
